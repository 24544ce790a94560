/** The end of a request body whose start is concatenated from cached texts. */
export const encodeTail = (settings: object): string => `,${JSON.stringify(settings).slice(1)}`
