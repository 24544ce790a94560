/** No format is longer: a URL of 8,000 characters is refused by most servers. */
const MAX_CHARACTERS = 8_192

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/
const TIME = /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i
const LOCAL_PART = /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}$/i
const NUMBER_TO_255 = /^(25[0-5]|2[0-4]\d|1?\d?\d)$/
const HEX_GROUP = /^[0-9a-f]{1,4}$/i
const DURATION = /^P(?!$)(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(?!$)(\d+H)?(\d+M)?(\d+S)?)?)$/

type IsFormat = (text: string) => boolean

const FORMATS: Record<string, IsFormat> = {
  date: isDate,
  time: (text) => TIME.test(text),
  'date-time': (text) => isDate(text.slice(0, 10)) && /^[t ]$/i.test(text.charAt(10)) && TIME.test(text.slice(11)),
  duration: (text) => DURATION.test(text),
  email: isEmail,
  hostname: (text) => isHostname(text),
  ipv4: isIpv4,
  ipv6: isIpv6,
  uri: (text) => /^[a-z][a-z0-9+.-]*:/i.test(text) && !/[\s<>"{}|\\^`]/.test(text),
  url: (text) => /^(https?|ftp):\/\//i.test(text) && URL.canParse(text),
  uuid: (text) => UUID.test(text),
}

/** Formats without a rule here are annotations, as JSON Schema says. */
export function hasFormat(text: string, format: string): boolean {
  const isFormat = Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined
  return !isFormat || (text.length <= MAX_CHARACTERS && isFormat(text))
}

function isDate(text: string): boolean {
  const [, year, month, day] = DATE.exec(text)?.map(Number) ?? []
  if (year === undefined || month === undefined || day === undefined) return false
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
  return days !== undefined && day >= 1 && day <= days
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@')
  const name = text.slice(0, Math.max(at, 0))
  return LOCAL_PART.test(name) && !/^\.|\.\.|\.$/.test(name) && isHostname(text.slice(at + 1))
}

const isHostname = (text: string): boolean => text.length <= 253 && text.split('.').every((label) => LABEL.test(label))

function isIpv4(text: string): boolean {
  const numbers = text.split('.')
  return numbers.length === 4 && numbers.every((number) => NUMBER_TO_255.test(number))
}

function isIpv6(text: string): boolean {
  const halves = text.split('::')
  if (halves.length > 2) return false
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')))
  const hasIpv4 = groups.length > 0 && isIpv4(groups.at(-1)!)
  const plain = hasIpv4 ? groups.slice(0, -1) : groups
  const count = plain.length + (hasIpv4 ? 2 : 0)
  return plain.every((group) => HEX_GROUP.test(group)) && (halves.length === 2 ? count < 8 : count === 8)
}
