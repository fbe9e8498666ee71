// Click a column header to sort by it.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  table.querySelectorAll("thead th").forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => {
        const text = row.cells[column].textContent.replaceAll(",", "");
        const number = parseFloat(text);
        return Number.isNaN(number) ? text : number;
      };
      // in a column of numbers, other cells stay at the end
      const order = (a, b) => {
        const [x, y] = [key(a), key(b)];
        if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
        return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1);
      };
      body.append(...[...body.rows].sort(column ? order : (a, b) => (up ? 1 : -1) * a.cells[0].textContent.localeCompare(b.cells[0].textContent)));
    });
  });
}
// open all parts before printing
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => (part.open = true)));
