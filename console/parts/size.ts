const UNITS = ['kB', 'MB', 'GB', 'TB']

export function bytesText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`
  const power = Math.min(UNITS.length, Math.floor(Math.log10(bytes) / 3))
  return `${(bytes / 1_000 ** power).toFixed(1)} ${UNITS[power - 1]}`
}
