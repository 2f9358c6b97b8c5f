// What a reader would stumble over in a page, as a list of lines: text that is too small or too faint, a page that is
// wider than the screen, links and names that lead nowhere or twice, words outside of their box.
(() => {
  const found = [];
  for (const details of document.querySelectorAll("details")) details.open = true;
  const least = 12;
  const complain = (what, element) =>
    found.push(`${what}: ${element.tagName} "${(element.textContent || "").trim().slice(0, 40)}"`);

  if (document.documentElement.scrollWidth > innerWidth) {
    found.push(`the page is ${document.documentElement.scrollWidth} pixels wide on a screen of ${innerWidth}`);
    for (const element of document.querySelectorAll("body *"))
      if (!element.closest(".scroll") && element.getBoundingClientRect().right > innerWidth + 1)
        complain("too wide", element);
  }

  const ids = new Set();
  for (const element of document.querySelectorAll("[id]")) {
    if (ids.has(element.id)) found.push(`two elements are #${element.id}`);
    ids.add(element.id);
  }
  for (const link of document.querySelectorAll("[href]")) {
    const href = link.getAttribute("href");
    if (href === "data:,") continue;
    if (!href.startsWith("#")) found.push(`${href} leads out of the file`);
    else if (!ids.has(href.slice(1))) found.push(`${href} leads nowhere`);
  }
  for (const element of document.querySelectorAll("*"))
    for (const { name, value } of element.attributes)
      for (const [, id] of value.matchAll(/url\(#([^)]*)\)/g)) 
        if (!ids.has(id)) found.push(`${name} names #${id}, which is not there`);

  // WCAG 2: relative luminance, contrast.
  const colour = (text) => (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const contrast = (a, b) => {
    const [x, y] = [light(a), light(b)];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  };
  const seen = (c) => c.length < 4 || c[3] > 0.5;
  function behind(element) {
    for (let at = element; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      const paint = colour(style.backgroundColor);
      if (style.backgroundColor !== "transparent" && seen(paint)) return paint;
    }
    return [255, 255, 255];
  }
  // In a picture, what was painted last below the middle of the words.
  function behindWords(text, shapes) {
    const box = text.getBBox();
    const middle = new DOMPoint(box.x + box.width / 2, box.y + box.height / 2).matrixTransform(text.getScreenCTM());
    let paint = null;
    for (const shape of shapes) {
      if (!(shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)) continue;
      const style = getComputedStyle(shape);
      if (style.fill === "none" || !style.fill.startsWith("rgb") || Number(style.fillOpacity) < 0.5) continue;
      const matrix = shape.getScreenCTM();
      if (matrix && shape.isPointInFill(middle.matrixTransform(matrix.inverse()))) paint = colour(style.fill);
    }
    return paint || behind(text.closest("svg"));
  }

  let words = 0;
  for (const element of document.querySelectorAll("body *:not(svg *):not(script)")) {
    const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!own || !element.checkVisibility()) continue;
    ++words;
    const style = getComputedStyle(element);
    if (parseFloat(style.fontSize) < least) complain(`text of ${style.fontSize}`, element);
    const value = contrast(colour(style.color), behind(element));
    if (value < 4.5) complain(`contrast ${value.toFixed(2)}`, element);
  }
  for (const svg of document.querySelectorAll("svg")) {
    const shapes = [...svg.querySelectorAll("rect, circle, path")].filter((shape) => !shape.closest("marker"));
    const texts = [...svg.querySelectorAll("text")];
    const step = Math.ceil(texts.length / 150);
    const frame = svg.getBoundingClientRect();
    texts.forEach((text, i) => {
      ++words;
      const shown = parseFloat(getComputedStyle(text).fontSize) * (frame.width / svg.viewBox.baseVal.width);
      if (shown < least - 0.05) complain(`text of ${shown.toFixed(1)} pixels in a picture`, text);
      const box = text.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 ||
          box.bottom > frame.bottom + 1)
        complain("cut off in a picture", text);
      if (i % step) return;
      const value = contrast(colour(getComputedStyle(text).fill), behindWords(text, shapes));
      if (value < 4.5) complain(`contrast ${value.toFixed(2)} in a picture`, text);
    });
  }
  if (words < 20) found.push(`only ${words} pieces of text`);
  return [...new Set(found)].slice(0, 40);
})()
