/** A setting in force, as a person may see it. */
export type ShownSetting = { name: string; value: string }

/** `changed`: settings whose values are other ones after a restart. Changes of secrets are not seen. */
export type ConfigurationCheck = { faults: string[]; changed: string[] }
