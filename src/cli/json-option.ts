export const JSON_OPTION = ['--json', 'Print JSON.'] as const
