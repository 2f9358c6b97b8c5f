// What a hand points at says what it costs and how that is known. Without this script the browser's own titles say the
// cost, and the table "Costs by distance" the origin.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const tip = document.getElementById("tip");

  // The browser's own titles would cover ours.
  for (const title of document.querySelectorAll("figure svg title")) {
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  }

  // A picture that is wider than its place scrolls, because its words would be too small; who wants to see all of it at
  // once may.
  for (const figure of document.querySelectorAll("figure")) {
    const [scroll, svg] = [figure.querySelector(".scroll"), figure.querySelector("svg")];
    const button = document.createElement("button");
    button.className = "fit";
    const say = () => { button.textContent = figure.classList.contains("fitted") ? "Full size" : "Fit to the width"; };
    button.addEventListener("click", () => { figure.classList.toggle("fitted"); say(); });
    say();
    const offer = () => {
      if (!scroll.clientWidth) return;  // folded
      button.hidden = !figure.classList.contains("fitted") && svg.width.baseVal.value <= scroll.clientWidth;
    };
    scroll.before(button);
    offer();
    addEventListener("resize", offer);
    figure.closest("details")?.addEventListener("toggle", offer);
  }

  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });

  // As model/distance.h has it; places: core, cache, node, package.
  function distance(a, b) {
    const [one, other] = [data.places[a], data.places[b]];
    if (one[3] !== other[3]) return 5;
    if (one[2] !== other[2]) return 4;
    if (one[1] !== other[1]) return 3;
    return one[0] !== other[0] ? 2 : 1;
  }

  function origin(a, b) {
    const between = a === b ? 0 : distance(a, b);
    return between ? `\n${data.distances[between]}: ${data.origins[between]}` : "";
  }

  function cellWords(cells, event) {
    const heat = data.heat[cells.closest("figure").id];
    if (!heat) return "";
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(cells.getScreenCTM().inverse());
    const [row, column] = [Math.floor(at.y), Math.floor(at.x)];
    const [from, to] = [heat.order[row], heat.order[column]];
    if (from === undefined || to === undefined || from === to) return "";
    const cost = heat.values[heat.cells[row * heat.order.length + column]];
    return `CPU ${data.cpus[from]} to CPU ${data.cpus[to]}: ${heat.name} ${cost} ${data.unit}` + origin(from, to);
  }

  function words(event) {
    const target = event.target;
    if (!target.closest) return "";
    const cells = target.closest("figure")?.querySelector(".cells");
    if (cells) {
      const text = cellWords(cells, event);
      if (text) return text;
    }
    const told = target.closest("[data-tip]");
    if (!told) return "";
    const link = told.dataset.link?.split(" ").map(Number);
    return told.dataset.tip + (link ? origin(link[0], link[1]) : "");
  }

  function show(event) {
    const text = words(event);
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const box = tip.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, innerWidth - box.width - 8);
    const below = event.clientY + 18;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${below + box.height > innerHeight ? event.clientY - box.height - 10 : below}px`;
  }

  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("pointerleave", () => { tip.hidden = true; });
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
})();
