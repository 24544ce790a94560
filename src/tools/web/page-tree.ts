import { Parser } from 'htmlparser2'

/** An element with what the later steps need: nothing else of the document is kept. */
export type PageElement = {
  tag: string
  attributes: Record<string, string>
  children: (PageElement | string)[]
  parent?: PageElement
  /** Characters of text in it, and how many of them belong to links. */
  textLength: number
  linkLength: number
  commas: number
}

export type Page = { title: string; root: PageElement }

/** Deeper elements are flattened into this level, so that a hostile page cannot overflow the stack of a reader. */
const MAX_DEPTH = 200

/** Elements without text for a reader. */
const SKIPPED = new Set(
  'script style noscript template svg math iframe object embed canvas audio video map dialog button input select textarea'.split(
    ' ',
  ),
)

/** HTML as a small tree, in one pass. */
export function parsePage(html: string): Page {
  const root = newElement('body', {})
  const open: PageElement[] = [root]
  /** Inside so many skipped elements. */
  let skipped = 0
  let flattened = 0
  let isTitle = false
  let title = ''
  const parser = new Parser(
    {
      onopentag(tag, attributes) {
        if (tag === 'title') isTitle = title === '' && skipped === 0
        if (skipped > 0 || SKIPPED.has(tag) || isHidden(attributes)) skipped += 1
        else if (tag === 'html' || tag === 'head' || tag === 'body') return
        else if (open.length >= MAX_DEPTH) flattened += 1
        else {
          const parent = open.at(-1)!
          const element = newElement(tag, attributes, parent)
          parent.children.push(element)
          open.push(element)
        }
      },
      ontext(text) {
        if (isTitle) title += text
        else if (skipped === 0) open.at(-1)!.children.push(text)
      },
      onclosetag(tag) {
        if (tag === 'title') isTitle = false
        if (skipped > 0) skipped -= 1
        else if (tag === 'html' || tag === 'head' || tag === 'body') return
        else if (flattened > 0) flattened -= 1
        else close(open.pop()!)
      },
    },
    { decodeEntities: true, lowerCaseTags: true },
  )
  parser.end(html)
  while (open.length > 0) close(open.pop()!)
  return { title: title.replace(/\s+/g, ' ').trim(), root }
}

const newElement = (tag: string, attributes: Record<string, string>, parent?: PageElement): PageElement => {
  const element: PageElement = { tag, attributes, children: [], textLength: 0, linkLength: 0, commas: 0 }
  if (parent) element.parent = parent
  return element
}

/** All children are complete here, so every sum is made once. */
function close(element: PageElement): void {
  for (const child of element.children) {
    if (typeof child === 'string') {
      element.textLength += child.trim().length
      element.commas += countCommas(child)
    } else {
      element.textLength += child.textLength
      element.linkLength += child.linkLength
      element.commas += child.commas
    }
  }
  if (element.tag === 'a') element.linkLength = element.textLength
}

function countCommas(text: string): number {
  let count = 0
  for (let index = text.indexOf(','); index >= 0; index = text.indexOf(',', index + 1)) count += 1
  return count
}

const isHidden = ({ hidden, style, 'aria-hidden': ariaHidden }: Record<string, string>): boolean =>
  hidden !== undefined || ariaHidden === 'true' || style?.replaceAll(' ', '').includes('display:none') === true
