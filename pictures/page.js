// What a hand points at says what it costs and how that is known. Without this script the table "Costs by distance"
// says the origin.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const tip = document.getElementById("tip");

  // A picture that is wider than its place scrolls, because its words would be too small; a button shows all of it at
  // once.
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

  // What is at a place of a drawing, 0 to 1 from left to right and from top to bottom of its cells.
  const told = {
    cells(tips, x, y) {
      const n = tips.names.length;
      const [row, column] = [Math.floor(y * n), Math.floor(x * n)];
      const words = `${tips.names[row]} to ${tips.names[column]}: ${tips.name} ${tips.values[tips.cells[row * n + column]]} ${data.unit}`;
      if (!tips.cpus.length) return words;
      return row === column ? "" : words + origin(tips.cpus[row], tips.cpus[column]);
    },
    grid(tips, x, y) {
      const row = Math.floor(y * tips.names.length), rounds = tips.told[row].length;
      const words = tips.told[row][Math.floor(x * rounds)];
      return `${tips.names[row]}, round ${Math.floor(x * rounds) + 1}` + (words ? `\n${words}` : "");
    },
    lanes(tips, x, y) {
      const row = Math.floor(y * tips.names.length), time = x * tips.end;
      const bar = tips.bars[row].find(([begin, end]) => begin <= time && time < end);
      const doing = { s: "sends", r: "receives", w: "waits" };
      return tips.names[row] + (bar ? ` ${doing[bar[2]]} from ${bar[0]} to ${bar[1]} ${data.unit}` : " is done");
    },
    points(tips, x, y, box) {
      for (const [px, py, words, from, to] of tips.points)
        if (Math.hypot((px - x) * box.width, (py - y) * box.height) <= tips.radius * box.width) return words + origin(from, to);
      return "";
    },
  };

  function words(event) {
    const target = event.target;
    if (!target.closest) return "";
    const figure = target.closest("figure");
    const tips = figure && data.tips[figure.id];
    if (tips) {
      const box = figure.querySelector(`[id="${figure.id}-cells"]`).getBoundingClientRect();
      const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
      if (x >= 0 && x < 1 && y >= 0 && y < 1) return told[tips.kind](tips, x, y, box);
    }
    return target.closest("[data-tip]")?.dataset.tip ?? "";
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
