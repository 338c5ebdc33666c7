// The choices, and what follows from each.

const control = (id) => document.getElementById(id);
const darkPage = matchMedia("(prefers-color-scheme: dark)");
let latest = 0; // the number of the last drawing asked for: earlier ones that are late are dropped

function option(text, value) {
  return element("option", { value }, text);
}

function site() {
  return trace.sites[control("site").value];
}

function pageColours() {
  return darkPage.matches ? "dark" : "light";
}

function chosenHead() {
  return document.querySelector('input[name="head"]:checked').value;
}

function fillSites() {
  control("site").append(...trace.sites.map(({ name }, place) => option(name, place)));
  control("site-choice").hidden = trace.sites.length === 1;
}

// Of a text whose tokens are letters or words.
function beginning(tokens) {
  const letters = tokens.every((token) => [...token].length === 1);
  const text = [...tokens.join(letters ? "" : " ")];
  return text.length > 32 ? `${text.slice(0, 31).join("")}…` : text.join("");
}

function fillExamples() {
  const kept = control("example").value || 0;
  const { examples } = site();
  const names = examples.map(({ keys }, place) => option(`${place}: ${beginning(keys)}`, place));
  control("example").replaceChildren(...names);
  control("example").value = Math.min(kept, examples.length - 1);
  control("example-choice").hidden = examples.length === 1;
}

// A button with a small picture for every head and for their mean.
async function fillHeads() {
  const count = site().heads;
  const kept = document.querySelector('input[name="head"]:checked')?.value ?? "mean";
  const names = count === 1 ? ["0"] : ["mean", ...Array(count).keys()].map(String);
  const chosen = names.includes(kept) ? kept : names[0];
  const strip = control("heads").querySelector(".strip");
  strip.replaceChildren(
    ...names.map((name) => {
      const input = element("input", { type: "radio", name: "head", value: name });
      input.checked = name === chosen;
      const canvas = element("canvas", { "aria-hidden": "true", width: 1, height: 1 });
      return element("label", { class: "head-choice" }, input, canvas, element("span", {}, name));
    }),
  );
  control("heads").hidden = count === 1;
}

async function drawHeads() {
  if (site().heads === 1) return;
  for (const label of document.querySelectorAll(".head-choice")) {
    const name = label.querySelector("input").value;
    const matrix = await matrixOf(control("site").value, Number(control("example").value), name);
    const order = [...Array(matrix.columns).keys()];
    const top = control("top").value === "one" ? 1 : matrix.largest;
    const canvas = label.querySelector("canvas");
    paint(canvas, matrix, order, { threshold: 0, top, page: pageColours() });
    canvas.classList.toggle("shrunk", matrix.columns > 54 || matrix.rows > 54);
  }
}

// As large as the window allows, but never too small for a label beside each cell.
function fitCell() {
  const { queries, keys } = site().examples[Number(control("example").value)];
  const main = document.querySelector("main").clientWidth;
  const wide = (main > 860 ? main - 330 : main) - Math.min(textWidth(queries), 150) - 50;
  const high = parseFloat(getComputedStyle(scroller).maxHeight) - headHeight(keys, 40) - 10;
  const fit = Math.floor(Math.min(wide / keys.length, high / queries.length));
  control("zoom").value = Math.max(16, Math.min(44, fit));
}

async function draw() {
  const number = ++latest;
  const example = Number(control("example").value);
  const head = chosenHead();
  const matrix = await matrixOf(control("site").value, example, head);
  if (number !== latest) return;
  const order = [...Array(matrix.columns).keys()];
  if (control("order").value === "received") {
    order.sort((a, b) => matrix.received[b] - matrix.received[a] || a - b);
  }
  const threshold = Number(control("threshold").value);
  const whole = control("top").value === "one";
  const name = [
    site().name,
    site().heads > 1 ? (head === "mean" ? "mean of the heads" : `head ${head}`) : "",
    site().examples.length > 1 ? `example ${example}` : "",
  ];
  const view = {
    threshold,
    top: whole ? 1 : matrix.largest,
    page: pageColours(),
    cell: Number(control("zoom").value),
    name: name.filter(Boolean).join(", "),
  };
  grid.show(matrix, order, view);
  legend(view);
  control("threshold-says").textContent = threshold;
  tell(matrix, view);
}

function legend(view) {
  const context = control("legend-bar").getContext("2d");
  for (let i = 0; i < 256; i++) {
    context.fillStyle = trace.colours[view.page][i][0];
    context.fillRect(i, 0, 1, 1);
  }
  control("legend-top").textContent = view.top === 1 ? "1" : written(view.top);
}

function tell(matrix, view) {
  const count = matrix.rows * matrix.columns;
  let shown = 0;
  for (let query = 0; query < matrix.rows; query++) {
    for (const weight of matrix.row(query)) shown += weight >= view.threshold;
  }
  const hides = view.threshold > 0 ? `; ${shown} of ${count} weights are ${view.threshold} or more` : "";
  const queries = `${matrix.rows} ${matrix.rows === 1 ? "query" : "queries"}`;
  const sizes = `${queries} × ${matrix.columns} ${matrix.columns === 1 ? "key" : "keys"}`;
  control("status").textContent = `${view.name}: ${sizes}${hides}`;
  const left = site().examples[Number(control("example").value)].left_out;
  control("left-out").textContent = left;
  control("left-out").hidden = !left;
}

function fileName(ending) {
  const name = `${trace.title} ${grid.view.name}`.replace(/[^\p{L}\p{N}]+/gu, "-");
  return `${name.replace(/^-|-$/g, "").slice(0, 80)}.${ending}`;
}

async function changeExample() {
  fitCell();
  await draw();
  await drawHeads();
}

async function changeSite() {
  fillExamples();
  fillHeads();
  await changeExample();
}

grid.start((query, key) => detail(grid.matrix, query, key));
control("site").addEventListener("change", changeSite);
control("example").addEventListener("change", changeExample);
control("heads").addEventListener("change", draw);
for (const id of ["order", "threshold", "zoom"]) control(id).addEventListener("input", draw);
for (const source of [control("top"), darkPage]) {
  source.addEventListener("change", async () => {
    await draw();
    await drawHeads();
  });
}
document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
control("export-csv").addEventListener("click", () => save(table(grid.matrix), fileName("csv")));
control("export-png").addEventListener("click", async () => {
  const { matrix, order, view } = grid;
  save(await picture(matrix, order, view, `${trace.title}: ${view.name}`), fileName("png"));
});
fillSites();
await changeSite();
