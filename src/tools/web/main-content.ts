import type { PageElement } from './page-tree.ts'

/** Less text than this is a teaser, not the content of a page. */
const MIN_TEXT = 200
/** The content must hold this share of all text; otherwise the page is taken whole. */
const MIN_SHARE = 0.25

/**
 * The element that holds the content of a page: what the page itself declares (`main`, a single `article`), otherwise the
 * element with the best score. The score follows Readability: paragraphs count for their parents, links against them.
 */
export function findContent(root: PageElement): PageElement {
  const all = elementsOf(root)
  const isEnough = ({ textLength }: PageElement) => textLength >= MIN_TEXT && textLength >= MIN_SHARE * root.textLength
  const declared = [
    all.filter(({ tag, attributes }) => tag === 'main' || attributes.role === 'main'),
    all.filter(({ tag }) => tag === 'article'),
  ]
  for (const found of declared) if (found.length === 1 && isEnough(found[0]!)) return found[0]!
  const best = bestByScore(all)
  return best && isEnough(best) ? best : root
}

/** Whether an element is furniture of the page: navigation, footers, sharing buttons, cookie notices. */
export function isFurniture({ tag, attributes, parent }: PageElement): boolean {
  if (tag === 'nav' || tag === 'aside' || tag === 'footer') return true
  if (attributes.role !== undefined && FURNITURE_ROLES.has(attributes.role)) return true
  // The header of an article has its title; the header of a page has its menu.
  if (tag === 'header') return !isInside(parent, 'article') && !isInside(parent, 'main')
  const { class: classes, id } = attributes
  if (classes === undefined && id === undefined) return false
  const names = `${classes ?? ''} ${id ?? ''}`.slice(0, 500)
  return FURNITURE_NAMES.test(names) && !CONTENT_NAMES.test(names)
}

const FURNITURE_ROLES = new Set(['navigation', 'banner', 'contentinfo', 'complementary', 'search', 'menu', 'dialog'])
const FURNITURE_NAMES =
  /\b(?:nav|navbar|menu|sidebar|footer|breadcrumbs?|share|sharing|social|cookies?|promo|advert|ads|sponsor|newsletter|popup|modal|pagination|related|comments?)\b/i
const CONTENT_NAMES = /\b(?:article|content|main|post|entry|body)\b/i

function isInside(element: PageElement | undefined, tag: string): boolean {
  for (let one = element; one; one = one.parent) if (one.tag === tag) return true
  return false
}

/** In document order, without furniture. */
function elementsOf(root: PageElement): PageElement[] {
  const found: PageElement[] = []
  const waiting = [root]
  for (let element = waiting.pop(); element; element = waiting.pop()) {
    found.push(element)
    const { children } = element
    for (let index = children.length - 1; index >= 0; index--) {
      const child = children[index]!
      if (typeof child !== 'string' && !isFurniture(child)) waiting.push(child)
    }
  }
  return found
}

const PARAGRAPHS = new Set(['p', 'pre', 'td', 'blockquote', 'dd', 'li'])
const MIN_PARAGRAPH = 25

function bestByScore(all: readonly PageElement[]): PageElement | undefined {
  const scores = new Map<PageElement, number>()
  const add = (element: PageElement | undefined, score: number) =>
    element && scores.set(element, (scores.get(element) ?? 0) + score)
  for (const { tag, textLength, commas, parent } of all) {
    if (!PARAGRAPHS.has(tag) || textLength < MIN_PARAGRAPH) continue
    const score = 1 + commas + Math.min(textLength / 100, 3)
    add(parent, score)
    add(parent?.parent, score / 2)
  }
  let best: { element: PageElement; score: number } | undefined
  for (const [element, raw] of scores) {
    const score = raw * (1 - element.linkLength / Math.max(element.textLength, 1))
    if (!best || score > best.score) best = { element, score }
  }
  return best?.element
}
