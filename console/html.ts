import htm from 'htm'
import { type ComponentChildren, h } from 'preact'

type Html = (strings: TemplateStringsArray, ...values: unknown[]) => ComponentChildren

/** Templates instead of JSX: they survive type stripping. Values are text, never markup. */
export const html = (htm as unknown as { bind(create: typeof h): Html }).bind(h)
