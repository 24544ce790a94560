/** `strict` commits survive a power cut; `relaxed` ones survive a killed process. */
export const DURABILITIES = ['strict', 'relaxed'] as const

export type Durability = (typeof DURABILITIES)[number]
