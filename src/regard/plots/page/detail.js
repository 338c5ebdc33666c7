// What is said beside the grid about one cell.

const LISTED = 6;

function show(id, ...children) {
  document.getElementById(id).replaceChildren(...children);
}

function detail(matrix, query, key) {
  const weight = matrix.at(query, key);
  const row = matrix.row(query);
  show("detail-query", bdi(matrix.queries[query]), element("small", {}, ` ${query}`));
  show("detail-key", bdi(matrix.keys[key]), element("small", {}, ` ${key}`));
  show("detail-weight", written(weight));
  const larger = row.filter((other) => other > weight).length;
  const sum = row.reduce((total, other) => total + other, 0);
  show("detail-rank", `rank ${larger + 1} of ${matrix.columns} keys; row sum ${written(sum)}`);
  bars("detail-keys", matrix.keys, row, key);
  const column = matrix.queries.map((_, i) => matrix.at(i, key));
  bars("detail-queries", matrix.queries, column, query);
}

// The largest weights, largest first, as bars.
function bars(id, labels, weights, here) {
  const order = [...weights.keys()].sort((a, b) => weights[b] - weights[a] || a - b);
  const items = order.slice(0, LISTED).map((place) => {
    const bar = element("span", { class: "bar" });
    bar.style.width = `${100 * weights[place]}%`;
    return element(
      "li",
      { class: place === here ? "here" : "" },
      bdi(labels[place]),
      element("span", { class: "track" }, bar),
      element("span", { class: "number" }, written(weights[place])),
    );
  });
  show(id, ...items);
}
