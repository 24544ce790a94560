/** The text of a Slack message as a person reads it: links, mentions and entities are written out. */
export function plainText(text: string, bot: { id: string } | undefined): string {
  return text
    .replaceAll(/<@([A-Z0-9]+)(?:\|([^>]*))?>/g, (_, id: string, name?: string) =>
      id === bot?.id ? '' : `@${name ?? id}`,
    )
    .replaceAll(/<#([A-Z0-9]+)(?:\|([^>]*))?>/g, (_, id: string, name?: string) => `#${name || id}`)
    .replaceAll(/<!(?:subteam\^)?([^>|]*)(?:\|([^>]*))?>/g, (_, word: string, name?: string) => name ?? `@${word}`)
    .replaceAll(/<((?:https?|mailto):[^>|]*)(?:\|([^>]*))?>/g, (_, url: string, label?: string) =>
      label === undefined || label === url || `mailto:${label}` === url ? (label ?? url) : `${label} (${url})`,
    )
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
    .trim()
}

export const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
