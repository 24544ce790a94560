/** The end of a request whose long beginning is put together from cached texts. */
export const encodeTail = (settings: object): string => `,${JSON.stringify(settings).slice(1)}`
