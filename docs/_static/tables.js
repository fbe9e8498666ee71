/* Tables that are wider than the page become smaller, and where that is not enough, each row
   becomes a block in which every cell carries the title of its column. Without scripts they
   scroll. */
"use strict";

function fit(wrapper) {
  const table = wrapper.querySelector("table");
  if (!table || !wrapper.clientWidth) return;
  table.classList.remove("tight", "stacked");
  for (const way of ["tight", "stacked"]) {
    if (wrapper.scrollWidth <= wrapper.clientWidth + 1) return;
    table.classList.add(way);
  }
}

function name(table) {
  const titles = [...table.querySelectorAll("thead tr:last-child th")].map((th) =>
    th.textContent.trim());
  for (const row of table.querySelectorAll("tbody tr")) {
    [...row.children].forEach((cell, i) => {
      cell.dataset.title = titles[i] || "";
      const length = cell.textContent.trim().length;
      cell.classList.toggle("empty", !length);
      cell.classList.toggle("short", length <= 12);
    });
  }
}

function fitAll() { document.querySelectorAll(".table-wrapper").forEach(fit); }

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(".table-wrapper table").forEach(name);
  fitAll();
});
let width = 0;
addEventListener("resize", () => {
  if (innerWidth !== width) { width = innerWidth; fitAll(); }
});
document.addEventListener("toggle", fitAll, true);
document.fonts.ready.then(fitAll);
