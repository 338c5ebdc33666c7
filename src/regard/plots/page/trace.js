// The recorded weights, unpacked when first shown.

const trace = JSON.parse(document.getElementById("trace").textContent);

const unpacked = new Map();

// Resolves to a Float32Array of (example, head, query, key).
function weightsOf(site) {
  if (!unpacked.has(site)) {
    const packed = document.getElementById(`weights-${site}`).textContent;
    unpacked.set(site, unpack(packed));
  }
  return unpacked.get(site);
}

// base64 of zlib of the four bytes of each number, all first bytes first: see pack.py.
async function unpack(text) {
  const letters = atob(text);
  const packed = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) packed[i] = letters.charCodeAt(i);
  const inflated = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(inflated).arrayBuffer());
  const count = planes.length / 4;
  const [first, second, third, fourth] = [0, 1, 2, 3].map((plane) =>
    planes.subarray(plane * count, (plane + 1) * count),
  );
  const bits = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    bits[i] = first[i] | (second[i] << 8) | (third[i] << 16) | (fourth[i] << 24);
  }
  return new Float32Array(bits.buffer);
}

// One matrix to look at: `at(query, key)` are the weights of a head, or the mean over the heads.
async function matrixOf(place, example, head) {
  const site = trace.sites[place];
  const weights = await weightsOf(place);
  const { queries, keys } = site.examples[example];
  const rows = queries.length;
  const columns = keys.length;
  const size = site.query_len * site.key_len;
  const heads = head === "mean" ? [...Array(site.heads).keys()] : [Number(head)];
  const cells = new Float64Array(rows * columns);
  for (const each of heads) {
    const start = (example * site.heads + each) * size;
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++) {
        cells[i * columns + j] += weights[start + i * site.key_len + j];
      }
    }
  }
  if (heads.length > 1) cells.forEach((sum, i) => (cells[i] = sum / heads.length));
  const received = new Float64Array(columns);
  cells.forEach((weight, i) => (received[i % columns] += weight));
  return {
    rows,
    columns,
    queries,
    keys,
    received,
    exact: heads.length === 1, // as recorded: a 32-bit number
    largest: cells.reduce((most, weight) => Math.max(most, weight), 0),
    at: (query, key) => cells[query * columns + key],
    row: (query) => cells.subarray(query * columns, (query + 1) * columns),
  };
}
