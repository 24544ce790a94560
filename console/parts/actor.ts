const BUILT_IN: Record<string, string> = {
  home: 'the key of the home',
  'command-line': 'the command line',
  gateway: 'a chat',
}

/** Who did something, by the name of the key if it is known. */
export const actorText = (actor: string, keyName?: string | null): string =>
  BUILT_IN[actor] ?? `the key ${keyName ?? actor}`
