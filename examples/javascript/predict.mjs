// Ask an exported model: in Node, `node predict.mjs model.onnx rows.json`; in a browser, see index.html.

/** Labels and scores of rows, which are objects by column, or arrays of numbers. */
export async function predict(ort, session, rows) {
  const feeds = {};
  for (const { name, type, shape } of session.inputMetadata) {
    const cells = rows.map((row) => (Array.isArray(row) ? row : row[name] ?? row[name.replace(/_$/, "")]));
    if (type === "string") {
      feeds[name] = new ort.Tensor("string", cells.map((cell) => cell ?? ""), [rows.length]);
    } else {
      const width = shape.slice(1); // a column of vectors, or all columns if they are numbers
      const missing = Array(width[0] ?? 1).fill(NaN);
      const numbers = Float64Array.from(cells.flatMap((cell) => cell ?? missing), (x) => x ?? NaN);
      feeds[name] = new ort.Tensor("float64", numbers, [rows.length, ...width]);
    }
  }
  const { names, labels, scores } = await session.run(feeds);
  const q = names.data.length;
  return rows.map((_, i) => ({
    labels: names.data.filter((_, j) => labels.data[i * q + j] === 1n),
    scores: Object.fromEntries(names.data.map((name, j) => [name, scores.data[i * q + j]])),
  }));
}

if (globalThis.process?.argv[1]?.endsWith("predict.mjs")) {
  const [ort, { readFile }] = await Promise.all([import("onnxruntime-web"), import("node:fs/promises")]);
  const [model, rows] = await Promise.all(process.argv.slice(2).map((path) => readFile(path)));
  const session = await ort.InferenceSession.create(model);
  console.log(JSON.stringify(await predict(ort, session, JSON.parse(rows)), null, 1));
}
