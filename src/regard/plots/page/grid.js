// The grid: a canvas of one pixel a cell, stretched, and over it real cells for those in sight.

const MOST = 48; // real cells in a row or in a column
const STRIDE = 8; // what is in sight is rounded out to this, so that scrolling seldom rebuilds
const SAYS_FROM = 26; // a cell of so many pixels has room for its weight
const LABEL_HEIGHT = 15;
const WIDEST_LABEL = 138;
const STEEP = Math.sin(Math.PI / 3); // labels that are wider than their column lean by 60 degrees

const sheet = document.getElementById("sheet");
const scroller = document.getElementById("scroller");
const gridElement = document.getElementById("grid");
const cellsCanvas = document.getElementById("cells");
const ruler = document.createElement("canvas").getContext("2d");

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") made.className = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// A token in its own direction, whatever the text around it has.
function bdi(text) {
  return element("bdi", { title: text }, text);
}

// Of the widest; the label of the cell that is looked at is bold.
function textWidth(labels) {
  ruler.font = `700 12.5px ${getComputedStyle(document.body).fontFamily}`;
  return Math.max(...labels.map((label) => ruler.measureText(label).width));
}

function widestLabel(keys) {
  return Math.min(textWidth(keys) + 4, WIDEST_LABEL);
}

// Of the labels above the cells.
function headHeight(keys, cell) {
  const widest = widestLabel(keys);
  return Math.max(46, widest > cell ? Math.ceil(widest * STEEP) + 16 : 0);
}

// The weights as pixels: below the threshold nothing is drawn.
function paint(canvas, matrix, order, { threshold, top, page }) {
  canvas.width = matrix.columns;
  canvas.height = matrix.rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(matrix.columns, matrix.rows);
  const colours = bytes[page];
  let at = 0;
  for (let query = 0; query < matrix.rows; query++) {
    const row = matrix.row(query);
    for (const key of order) {
      const from = 3 * placeOf(row[key], top);
      image.data[at] = colours[from];
      image.data[at + 1] = colours[from + 1];
      image.data[at + 2] = colours[from + 2];
      image.data[at + 3] = row[key] < threshold ? 0 : 255;
      at += 4;
    }
  }
  context.putImageData(image, 0, 0);
}

const grid = {
  active: { query: 0, column: 0 }, // columns count as drawn; order[column] is the key
  looked: { query: 0, column: 0 },
  cells: new Map(),
  built: "",

  // `look(query, key)` is called with the cell under the pointer, or else the active one.
  start(look) {
    this.look = look;
    scroller.addEventListener("scroll", () => requestAnimationFrame(() => this.build()));
    new ResizeObserver(() => this.build()).observe(scroller);
    gridElement.addEventListener("keydown", (event) => this.key(event));
    gridElement.addEventListener("focusin", () => this.lookAt(this.active));
    sheet.addEventListener("pointermove", (event) => this.lookAt(this.under(event) ?? this.active));
    sheet.addEventListener("pointerleave", () => this.lookAt(this.active));
    sheet.addEventListener("click", (event) => {
      const place = this.under(event);
      if (place) this.move(place);
    });
  },

  show(matrix, order, view) {
    Object.assign(this, { matrix, order, view });
    this.active = {
      query: Math.min(this.active.query, matrix.rows - 1),
      column: Math.min(this.active.column, matrix.columns - 1),
    };
    paint(cellsCanvas, matrix, order, view);
    this.lay();
    this.built = "";
    this.build();
    this.lookAt(this.active);
  },

  // Sizes, from the labels and the size of a cell.
  lay() {
    const { matrix, view } = this;
    const { cell } = view;
    const widest = widestLabel(matrix.keys);
    const leaning = widest > cell;
    const head = headHeight(matrix.keys, cell);
    const room = Math.min(150, innerWidth * 0.3);
    const label = Math.ceil(Math.max(70, Math.min(textWidth(matrix.queries) + 18, room)));
    const wide = matrix.columns * cell;
    const high = matrix.rows * cell;
    sheet.style.setProperty("--head", `${head}px`);
    sheet.style.setProperty("--label", `${label}px`);
    sheet.style.setProperty("--cell", `${cell}px`);
    sheet.style.width = `${label + wide + (leaning ? Math.ceil(widest / 2) : 8)}px`;
    sheet.style.height = `${head + high + 8}px`;
    scroller.style.scrollPadding = `${head}px 8px 8px ${label}px`;
    for (const layer of [cellsCanvas, document.getElementById("lines")]) {
      layer.style.width = `${wide}px`;
      layer.style.height = `${high}px`;
    }
    document.getElementById("lines").classList.toggle("drawn", cell >= 8);
    gridElement.classList.toggle("leaning", leaning);
    gridElement.setAttribute("aria-rowcount", matrix.rows + 1);
    gridElement.setAttribute("aria-colcount", matrix.columns + 1);
    gridElement.setAttribute("aria-label", `Weights: ${view.name}`);
    Object.assign(this, { head, label });
  },

  // Real rows and labels for all in sight, real cells for at most MOST x MOST of them.
  build() {
    const { matrix, order, view, active } = this;
    if (!matrix) return;
    const { cell } = view;
    const rows = inSight(scroller.scrollTop, scroller.clientHeight, cell, matrix.rows);
    const columns = inSight(scroller.scrollLeft, scroller.clientWidth, cell, matrix.columns);
    const rowsWithCells = around(rows, active.query, matrix.rows);
    const columnsWithCells = around(columns, active.column, matrix.columns);
    const built = [rows, columns, rowsWithCells, columnsWithCells].map(([a, b]) => `${a}-${b}`).join();
    const outside = !this.cells.has(`${active.query},${active.column}`);
    if (built === this.built && !outside) return;
    this.built = built;

    const focused = gridElement.contains(document.activeElement);
    this.cells.clear();
    this.queryLabels = new Map();
    this.keyLabels = new Map();
    const corner = element("div", { role: "columnheader", class: "corner", "aria-colindex": 1 });
    corner.append(element("span", {}, "keys →"), element("span", {}, "queries ↓"));
    const keys = element("div", { role: "row", class: "keys", "aria-rowindex": 1 }, corner);
    for (const column of positions(columns, active.column)) {
      keys.append(this.keyLabel(column));
    }
    const made = [keys];
    const cellColumns = positions(columnsWithCells, active.column);
    for (const query of positions(rows, active.query)) {
      const row = element("div", { role: "row", class: "row", "aria-rowindex": query + 2 });
      row.style.top = `${this.head + query * cell}px`;
      row.append(this.queryLabel(query));
      if (within(rowsWithCells, query) || query === active.query) {
        for (const column of cellColumns) row.append(this.cell(query, column));
      }
      made.push(row);
    }
    gridElement.replaceChildren(...made);
    this.mark();
    if (focused) this.activeCell().focus({ preventScroll: true });
  },

  keyLabel(column) {
    const text = this.matrix.keys[this.order[column]];
    const made = element("div", {
      role: "columnheader",
      class: "key-label",
      "aria-colindex": column + 2,
    });
    made.append(bdi(text));
    made.style.left = `${this.label + column * this.view.cell}px`;
    made.classList.toggle("crowded-out", this.crowdedOut(column));
    this.keyLabels.set(column, made);
    return made;
  },

  // Where there is no room for every label, every second, third, … is drawn.
  crowdedOut(position) {
    return position % Math.ceil(LABEL_HEIGHT / this.view.cell) !== 0;
  },

  queryLabel(query) {
    const made = element("div", { role: "rowheader", class: "query-label", "aria-colindex": 1 });
    made.append(bdi(this.matrix.queries[query]));
    made.classList.toggle("crowded-out", this.crowdedOut(query));
    this.queryLabels.set(query, made);
    return made;
  },

  cell(query, column) {
    const { matrix, view } = this;
    const key = this.order[column];
    const weight = matrix.at(query, key);
    const hidden = weight < view.threshold;
    const made = element("div", {
      role: "gridcell",
      class: "cell",
      tabindex: -1,
      "aria-colindex": column + 2,
      "aria-label":
        `query ${query} ${matrix.queries[query]}, key ${key} ${matrix.keys[key]}, ` +
        `weight ${written(weight)}${hidden ? ", hidden" : ""}`,
    });
    made.style.left = `${this.label + column * view.cell}px`;
    if (view.cell >= SAYS_FROM && !hidden) {
      const [paper, ink] = trace.colours[view.page][placeOf(weight, view.top)];
      made.style.background = paper;
      made.style.color = ink;
      made.append(short(weight));
    }
    this.cells.set(`${query},${column}`, made);
    return made;
  },

  activeCell() {
    return this.cells.get(`${this.active.query},${this.active.column}`);
  },

  // The one cell that Tab reaches.
  mark() {
    for (const cell of gridElement.querySelectorAll(".active")) {
      cell.classList.remove("active");
      cell.tabIndex = -1;
    }
    this.activeCell().classList.add("active");
    this.activeCell().tabIndex = 0;
    this.markLooked();
  },

  markLooked() {
    for (const label of gridElement.querySelectorAll(".here")) label.classList.remove("here");
    this.queryLabels.get(this.looked.query)?.classList.add("here");
    this.keyLabels.get(this.looked.column)?.classList.add("here");
  },

  move({ query, column }) {
    const { matrix } = this;
    this.active = {
      query: Math.min(Math.max(query, 0), matrix.rows - 1),
      column: Math.min(Math.max(column, 0), matrix.columns - 1),
    };
    this.bringIntoSight();
    this.build();
    this.mark();
    this.activeCell().focus({ preventScroll: true });
    this.activeCell().scrollIntoView({ block: "nearest", inline: "nearest" });
    this.lookAt(this.active);
  },

  bringIntoSight() {
    const { cell } = this.view;
    const nearest = (scrolled, place, room) =>
      Math.max(Math.min(scrolled, place * cell), (place + 1) * cell - room);
    const { query, column } = this.active;
    const high = scroller.clientHeight - this.head;
    const wide = scroller.clientWidth - this.label;
    scroller.scrollTop = nearest(scroller.scrollTop, query, high);
    scroller.scrollLeft = nearest(scroller.scrollLeft, column, wide);
  },

  lookAt(place) {
    this.looked = place;
    this.markLooked();
    this.look(place.query, this.order[place.column]);
  },

  // The cell under the pointer, none over the labels.
  under(event) {
    const box = cellsCanvas.getBoundingClientRect();
    const visible = scroller.getBoundingClientRect();
    if (event.clientX < visible.left + this.label || event.clientY < visible.top + this.head) {
      return null;
    }
    const column = Math.floor((event.clientX - box.left) / this.view.cell);
    const query = Math.floor((event.clientY - box.top) / this.view.cell);
    return query < this.matrix.rows && column < this.matrix.columns ? { query, column } : null;
  },

  key(event) {
    const { query, column } = this.active;
    const { rows, columns } = this.matrix;
    const corner = event.ctrlKey || event.metaKey;
    const target = {
      ArrowUp: [query - 1, column],
      ArrowDown: [query + 1, column],
      ArrowLeft: [query, column - 1],
      ArrowRight: [query, column + 1],
      PageUp: [query - 10, column],
      PageDown: [query + 10, column],
      Home: [corner ? 0 : query, 0],
      End: [corner ? rows - 1 : query, columns - 1],
    }[event.key];
    if (!target || event.altKey || event.shiftKey) return;
    event.preventDefault();
    this.move({ query: target[0], column: target[1] });
  },
};

// The first position in sight, and the one after the last.
function inSight(scrolled, room, cell, count) {
  const first = Math.floor(scrolled / cell / STRIDE) * STRIDE;
  const end = Math.ceil((scrolled + room) / cell / STRIDE) * STRIDE;
  return [Math.max(first, 0), Math.min(end, count)];
}

// All in sight, or if they are too many those around the active one.
function around([first, end], active, count) {
  if (end - first <= MOST) return [first, end];
  const start = Math.floor((active - MOST / 4) / (MOST / 2)) * (MOST / 2);
  return [Math.max(start, 0), Math.min(start + MOST, count)];
}

function within([first, end], position) {
  return first <= position && position < end;
}

function positions([first, end], active) {
  const all = [];
  for (let position = first; position < end; position++) all.push(position);
  if (active < first) all.unshift(active);
  if (active >= end) all.push(active);
  return all;
}
