// Texts for figures, and elements. Nothing that hosts say is ever taken for HTML.

const SVG = "http://www.w3.org/2000/svg";
const byId = id => document.getElementById(id);

const DRAWN = ["svg", "g", "path", "rect", "text", "line", "title", "circle"];

/** An element with attributes and children; texts become texts. */
function make(name, attributes = {}, ...children) {
  const isDrawn = DRAWN.includes(name);
  const element = isDrawn ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

/** Writes a text if it has changed: a change alone costs the browser work. */
function tell(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function set(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

const PREFIXES = ["", "k", "M", "G", "T"];

/** A number with three digits and a prefix: 17.7 M. */
function scaled(value, unit) {
  let power = 0;
  while (Math.abs(value) >= 999.5 && power < PREFIXES.length - 1) {
    value /= 1000;
    power += 1;
  }
  const digits = power === 0 || Math.abs(value) >= 99.95 ? 0 : Math.abs(value) >= 9.995 ? 1 : 2;
  const gap = PREFIXES[power] + unit === "" ? "" : " ";
  return value.toFixed(digits) + gap + PREFIXES[power] + unit;
}

const bytes = value => value === null ? "–" : scaled(value, "B");
const rate = value => value === null ? "–" : scaled(value, "B/s");
const bits = value => value === null ? "–" : scaled(value, "bit/s");

function percent(value) {
  if (value === null) return "–";
  return (100 * value).toFixed(value > 0 && value < 0.0995 ? 1 : 0) + " %";
}

/** Events per second, or how many there were. */
function events(value) {
  if (value === null) return "–";
  return value > 0 && value < 9.95 ? value.toFixed(1) : scaled(value, "");
}

/** How long ago. */
function ago(seconds) {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}

/** The order in which n2 comes before n10. */
const natural = new Intl.Collator("en", {numeric: true}).compare;
