// Weights as text and as colours.

// Four decimals; of what would be 0.000…, the first figures that are not 0.
function written(weight) {
  if (weight === 0) return "0";
  return weight < 0.001 ? weight.toExponential(2) : weight.toFixed(4);
}

// In a cell: two decimals, as in the figures, and a dot for what rounds to nothing.
function short(weight) {
  const text = weight.toFixed(2);
  return text === "0.00" ? "·" : text.replace(/^0/, "");
}

// The shortest text that is read back as the same 32-bit number.
function exactly(weight) {
  for (let figures = 1; figures < 9; figures++) {
    const text = weight.toPrecision(figures);
    if (Math.fround(Number(text)) === weight) return String(Number(text));
  }
  return String(Number(weight.toPrecision(9)));
}

// 256 colours for a light page and for a dark one, weight 0 first, each with the colour of text on it.
const bytes = {};
for (const [page, colours] of Object.entries(trace.colours)) {
  const parts = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  bytes[page] = Uint8Array.from(colours.flatMap(([paper]) => parts(paper)));
}

// `top` is the weight that has the last colour.
function placeOf(weight, top) {
  return Math.round(Math.min(weight / top || 0, 1) * 255);
}
