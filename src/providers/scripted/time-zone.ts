/** Places whose IANA time zone has another name. */
const ALIASES: Record<string, string> = {
  utc: 'UTC',
  gmt: 'UTC',
  japan: 'Asia/Tokyo',
  china: 'Asia/Shanghai',
  beijing: 'Asia/Shanghai',
  india: 'Asia/Kolkata',
  delhi: 'Asia/Kolkata',
  'new delhi': 'Asia/Kolkata',
  mumbai: 'Asia/Kolkata',
  bangalore: 'Asia/Kolkata',
  kolkata: 'Asia/Kolkata',
  kyiv: 'Europe/Kiev',
  germany: 'Europe/Berlin',
  munich: 'Europe/Berlin',
  hamburg: 'Europe/Berlin',
  france: 'Europe/Paris',
  england: 'Europe/London',
  milan: 'Europe/Rome',
  barcelona: 'Europe/Madrid',
  geneva: 'Europe/Zurich',
  'san francisco': 'America/Los_Angeles',
  seattle: 'America/Los_Angeles',
  california: 'America/Los_Angeles',
  boston: 'America/New_York',
  washington: 'America/New_York',
  miami: 'America/New_York',
  montreal: 'America/Toronto',
  rio: 'America/Sao_Paulo',
}

/** The IANA time zone of a city; also accepts an IANA name. */
export function findTimeZone(place: string): string | undefined {
  const name = place.trim().toLowerCase()
  return ALIASES[name] ?? Intl.supportedValuesOf('timeZone').find((zone) => isNamed(zone, name))
}

function isNamed(zone: string, name: string): boolean {
  const spoken = zone.toLowerCase().replaceAll('_', ' ')
  return spoken === name.replaceAll('_', ' ') || spoken.slice(spoken.lastIndexOf('/') + 1) === name
}
