/** A setting in force, as a person may see it. */
export type ShownSetting = { name: string; value: string }
