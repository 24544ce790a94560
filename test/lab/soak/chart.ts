/** One line of a chart. `tone` names a color of the page. */
export type ChartSeries = { name: string; tone: 'one' | 'two' | 'three'; values: readonly number[] }

export type Chart = {
  title: string
  about: string
  unit: string
  times: readonly number[]
  lines: readonly ChartSeries[]
  /** Times to mark: the checks of the invariants. */
  marks: readonly number[]
}

const WIDTH = 640
const HEIGHT = 220
const LEFT = 52
const RIGHT = 14
const TOP = 10
const BOTTOM = 26

/** A chart as one SVG; the page sets its colors. */
export function drawChart({ title, about, unit, times, lines, marks }: Chart): string {
  const end = Math.max(times.at(-1) ?? 1, 1)
  const top = niceTop(Math.max(...lines.flatMap((line) => line.values), 0))
  const x = (at: number) => LEFT + (Math.min(at, end) / end) * (WIDTH - LEFT - RIGHT)
  const y = (value: number) => TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM)
  const path = (values: readonly number[]) =>
    values
      .map((value, index) => `${index === 0 ? 'M' : 'L'}${x(times[index]!).toFixed(1)} ${y(value).toFixed(1)}`)
      .join('')

  const across = [0, 0.25, 0.5, 0.75, 1].map((share) => share * top)
  const grid = across.map(
    (value) =>
      `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(value)}" y2="${y(value)}"/>` +
      `<text x="${LEFT - 8}" y="${y(value) + 4}" text-anchor="end">${short(value)}</text>`,
  )
  const ticks = timeTicks(end).map(
    ({ at, text }) =>
      `<text x="${x(at)}" y="${HEIGHT - 6}" text-anchor="${at === 0 ? 'start' : 'middle'}">${text}</text>`,
  )
  const checks = marks.map((at) => `<line class="mark" x1="${x(at)}" x2="${x(at)}" y1="${TOP}" y2="${y(0)}"/>`)
  const curves = lines.map(({ values, tone }) => `<path class="curve ${tone}" d="${path(values)}"/>`)
  const legend = lines.map(
    ({ name, tone, values }) => `<span><i class="${tone}"></i>${name} <b>${short(values.at(-1) ?? 0)}</b></span>`,
  )
  return `<figure>
<figcaption><h3>${title} <small>${unit}</small></h3><p class="legend">${legend.join('')}</p></figcaption>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}, ${unit}, over time">
${[...grid, ...ticks, ...checks, ...curves].join('\n')}
</svg>
<p class="about">${about}</p>
</figure>`
}

/** The next of 1, 2, 4, 8 times a power of ten, so that quarters are round numbers. */
function niceTop(value: number): number {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return power * ([1, 2, 4, 8, 10].find((step) => step * power >= value * 1.02) ?? 20)
}

function timeTicks(end: number): { at: number; text: string }[] {
  const step = [2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600].find((one) => end / one <= 7) ?? 86_400
  const label = (at: number) => (step < 60 ? `${at} s` : step < 3600 ? `${at / 60} min` : `${at / 3600} h`)
  return Array.from({ length: Math.floor((end * 0.97) / step) + 1 }, (_, index) => ({
    at: index * step,
    text: label(index * step),
  }))
}

const short = (value: number): string =>
  value >= 100
    ? Math.round(value).toLocaleString('en')
    : value >= 10
      ? value.toFixed(0)
      : value === 0
        ? '0'
        : value.toFixed(1)
