import type { MessageBody, SummaryBody } from './message.ts'

/** A summary for a fallback with a smaller window: in this turn it hides the first messages of the view. */
export type NarrowedView = {
  summary: SummaryBody
  /** How many messages of the stored view it replaces, summaries not counted. */
  hides: number
}

/** The view as the target of this turn is shown it. `bodyOf` and `wrap` allow messages with and without positions. */
export function narrow<Item>(
  view: readonly Item[],
  narrowed: NarrowedView | undefined,
  { bodyOf, wrap }: { bodyOf(item: Item): MessageBody; wrap(body: SummaryBody): Item },
): readonly Item[] {
  if (!narrowed) return view
  const rest = view.filter((item) => bodyOf(item).role !== 'summary').slice(narrowed.hides)
  return [wrap(narrowed.summary), ...rest]
}
