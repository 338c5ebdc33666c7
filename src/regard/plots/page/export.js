// What is shown as a file: a picture with its labels, or every weight as a table.

function save(blob, name) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// One line a cell, in order of position, not rounded: RFC 4180.
function table(matrix) {
  const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = ["query,query_token,key,key_token,weight"];
  for (let query = 0; query < matrix.rows; query++) {
    for (let key = 0; key < matrix.columns; key++) {
      const weight = matrix.at(query, key);
      const tokens = [quoted(matrix.queries[query]), quoted(matrix.keys[key])];
      const number = matrix.exact ? exactly(weight) : String(weight);
      lines.push([query, tokens[0], key, tokens[1], number].join());
    }
  }
  return new Blob([lines.join("\r\n") + "\r\n"], { type: "text/csv" });
}

// In the colours of a light page, for paper.
function picture(matrix, order, view, title) {
  const cell = Math.max(4, Math.min(44, Math.floor(4800 / Math.max(matrix.rows, matrix.columns))));
  const longest = Math.max(matrix.rows, matrix.columns) * cell;
  const size = Math.max(cell * 0.5, Math.min(22, longest / 160));
  const font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  const titleFont = `600 ${font}`;
  ruler.font = font;
  const width = (labels) => Math.max(...labels.map((label) => ruler.measureText(label).width));
  const leaning = width(matrix.keys) > cell - 4;
  const left = Math.ceil(width(matrix.queries)) + 30;
  const top = Math.ceil(leaning ? width(matrix.keys) * STEEP + size : size) + 24 + size * 2.4;
  const right = 40 + (leaning ? width(matrix.keys) / 2 : 0);
  ruler.font = titleFont;
  const titleWide = ruler.measureText(title).width + 40;

  const canvas = document.createElement("canvas");
  canvas.width = Math.max(left + matrix.columns * cell + right, titleWide);
  canvas.height = top + matrix.rows * cell + 20;
  const context = canvas.getContext("2d");
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);

  const pixels = document.createElement("canvas");
  paint(pixels, matrix, order, { ...view, page: "light" });
  context.imageSmoothingEnabled = false;
  context.drawImage(pixels, left, top, matrix.columns * cell, matrix.rows * cell);
  if (cell >= 24) {
    context.fillStyle = "#fff";
    for (let i = 1; i < matrix.rows; i++) {
      context.fillRect(left, top + i * cell, matrix.columns * cell, 2);
    }
    for (let j = 1; j < matrix.columns; j++) {
      context.fillRect(left + j * cell, top, 2, matrix.rows * cell);
    }
  }

  context.fillStyle = "#2b2f36";
  context.font = titleFont;
  context.textBaseline = "top";
  context.fillText(title, 20, 16);
  context.font = font;
  context.textBaseline = "middle";
  const every = Math.ceil((size * 1.15) / cell);
  context.textAlign = "right";
  matrix.queries.forEach((label, query) => {
    if (query % every === 0) context.fillText(label, left - 8, top + (query + 0.5) * cell);
  });
  order.forEach((key, column) => {
    if (column % every) return;
    context.save();
    context.translate(left + (column + 0.5) * cell, top - 8);
    context.textAlign = leaning ? "left" : "center";
    if (leaning) context.rotate(-Math.PI / 3);
    context.fillText(matrix.keys[key], 0, leaning ? 0 : -size / 2);
    context.restore();
  });
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
