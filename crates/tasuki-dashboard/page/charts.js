// Timelines: the history once, and then each second as it comes.

/** Points of a chart at most: more could not be told apart. */
const POINTS = 480;
/** Lengths of time, seconds. */
const SPANS = {minutes: 300, hour: 3600, day: 86400};
/** How a figure is written, and the largest that its chart has at least room for. */
const UNITS = {
  share: {text: percent, least: 1},
  bytes: {text: rate, least: 1000},
  events: {text: events, least: 1},
};
/** Figures that share a chart, by their names. */
const TOGETHER = {received: "sent", memory: "processors"};

class Charts {
  constructor(load) {
    this.load = load;
    this.span = "minutes";
    this.subject = "";
    this.told = null;
    for (const span of Object.keys(SPANS)) {
      byId(`span-${span}`).addEventListener("click", () => this.choose(this.subject, span));
    }
  }

  /** Offers the cluster, hosts and NICs. */
  offer(layout, load, choose) {
    const select = byId("subject");
    const group = (label, names) => {
      const options = names.map(name => make("option", {value: name}, name));
      return names.length ? [make("optgroup", {label}, ...options)] : [];
    };
    const nics = load.nics.map(nic => `${nic.host}:${nic.nic}`);
    select.replaceChildren(make("option", {value: ""}, "all hosts"), ...group("hosts", layout.hosts),
      ...group("NICs", nics));
    select.addEventListener("change", () => choose(select.value));
  }

  async choose(subject, span = this.span) {
    this.subject = subject;
    this.span = span;
    byId("subject").value = subject;
    for (const own of Object.keys(SPANS)) byId(`span-${own}`).setAttribute("aria-pressed", String(own === span));
    await this.reload();
  }

  async reload() {
    const {subject, span} = this;
    const told = await this.load(`/data/history?of=${subject}&span=${span === "day" ? "day" : "hour"}`);
    // Meanwhile another subject may have been chosen.
    if (subject !== this.subject || span !== this.span) return;
    this.told = told;
    this.drawn = null;
    this.draw();
  }

  /** Adds the figures of a second; the day's come from the history. */
  add(load) {
    if (!this.told) return;
    if (this.span === "day") {
      this.told.age += 1;
      if (this.told.age > 2 * this.told.step) this.reload();
      return;
    }
    const now = figures(this.subject, load);
    this.told.series.forEach((series, at) => {
      series.mean.push(now ? now[at] : null);
      if (series.mean.length > 3600) series.mean.shift();
    });
    this.draw();
  }

  draw() {
    if (!this.told) {
      byId("charts").replaceChildren(make("p", {class: "hint"}, "nothing is known yet"));
      return;
    }
    const kinds = new Map();
    for (const series of this.told.series) {
      const first = TOGETHER[series.name];
      const key = kinds.has(first) ? first : series.name;
      kinds.set(key, [...(kinds.get(key) || []), series]);
    }
    const groups = [...kinds.values()];
    if (!this.drawn || this.drawn.length !== groups.length) {
      this.drawn = groups.map(series => new Chart(series));
      byId("charts").replaceChildren(...this.drawn.map(chart => chart.figure));
    }
    const whole = SPANS[this.span] / this.told.step;
    groups.forEach((series, at) => this.drawn[at].show(series, whole, this.told.step));
  }
}

/** The figures of now in the order of the history's; null: the subject does not answer. */
function figures(subject, load) {
  if (subject === "") {
    if (!load.hosts.length) return null;
    const sum = (list, of) => list.reduce((all, one) => all + of(one), 0);
    return [sum(load.hosts, host => host.busy) / load.hosts.length, sum(load.hosts, host => host.sent),
      sum(load.nics, nic => nic.errors + nic.dropped)];
  }
  const host = load.hosts.find(host => host.host === subject);
  if (host) return [host.busy, host.memory_used_bytes / (host.memory_bytes || 1), host.sent, host.received];
  const nic = load.nics.find(nic => `${nic.host}:${nic.nic}` === subject);
  return nic ? [nic.sent, nic.received, nic.errors + nic.dropped] : null;
}

class Chart {
  constructor(series) {
    this.keys = series.map((one, at) => {
      const now = make("b");
      return {now, text: make("span", {}, make("span", {class: `key k${at}`}), one.name + " ", now)};
    });
    this.top = make("span", {});
    this.area = make("path", {class: "a0"});
    this.lines = series.map((_, at) => make("path", {class: `s${at}`}));
    this.svg = make("svg", { preserveAspectRatio: "none", role: "img"},
      ...[1, 33, 66, 99].map(y => make("line", {class: "axis", x1: 0, x2: POINTS, y1: y, y2: y})),
      this.area, ...this.lines);
    this.from = make("span", {});
    this.figure = make("figure", {class: "chart"},
      make("figcaption", {}, ...this.keys.map(key => key.text), this.top), this.svg,
      make("div", {class: "ends"}, this.from, make("span", {}, "now")));
  }

  show(series, whole, step) {
    const unit = UNITS[series[0].unit];
    const all = series.map(one => reduced(one.most || one.mean, whole));
    set(this.svg, "viewBox", `0 0 ${all[0].length - 1} 100`);
    const highest = Math.max(unit.least, ...all.flat().filter(value => value !== null));
    all.forEach((values, at) => {
      const last = series[at].mean.at(-1);
      tell(this.keys[at].now, unit.text(last === undefined ? null : last));
      this.lines[at].setAttribute("d", path(values, highest, false));
    });
    this.area.setAttribute("d", path(all[0], highest, true));
    tell(this.top, `scale to ${unit.text(highest)}`);
    tell(this.from, `${ago(whole * step)} ago`);
    const says = series.map(one => `${one.name} ${unit.text(one.mean.at(-1) ?? null)} now`);
    set(this.svg, "aria-label", `${says.join(", ")}, most ${unit.text(highest)}`);
  }
}

/** The largest figure of each point of a chart whose right edge is now. */
function reduced(values, whole) {
  const length = Math.min(POINTS, whole);
  const points = new Array(length).fill(null);
  values.forEach((value, at) => {
    const back = values.length - 1 - at;
    const point = length - 1 - Math.floor(back * length / whole);
    if (point >= 0 && value !== null) points[point] = Math.max(points[point] ?? 0, value);
  });
  return points;
}

/** A line, or the area below it, broken where nothing is known. */
function path(values, highest, isArea) {
  const place = (value, at) => `${at} ${(99 - 97 * value / highest).toFixed(1)}`;
  let text = "";
  let begun = -1;
  const close = end => {
    if (begun >= 0 && isArea) text += `L${end} 99L${begun} 99Z`;
    begun = -1;
  };
  values.forEach((value, at) => {
    if (value === null) return close(at - 1);
    if (begun < 0) {
      begun = at;
      text += `M${place(value, at)}${isArea ? "" : "h0.01"}`;
    } else {
      text += `L${place(value, at)}`;
    }
  });
  close(values.length - 1);
  return text;
}
