import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

/** Closer to the end than this counts as at it. */
const NEAR = 80

/** Keeps the end of an element in sight while its first child grows, unless the person scrolled up. */
export function useFollowEnd(): RefObject<HTMLDivElement | null> {
  const scroller = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const element = scroller.current
    if (!element) return
    let isAtEnd = true
    let last = 0
    // Content may grow between the scroll and this event, so only a way up leaves the end.
    const onScroll = () => {
      const { scrollTop, scrollHeight, clientHeight } = element
      if (scrollHeight - scrollTop - clientHeight < NEAR) isAtEnd = true
      else if (scrollTop < last) isAtEnd = false
      last = scrollTop
    }
    // The observer is called between layout and paint: reading sizes here costs no layout.
    const observer = new ResizeObserver(() => {
      if (isAtEnd) element.scrollTop = element.scrollHeight
    })
    element.addEventListener('scroll', onScroll, { passive: true })
    observer.observe(element)
    observer.observe(element.firstElementChild!)
    return () => {
      element.removeEventListener('scroll', onScroll)
      observer.disconnect()
    }
  }, [])
  return scroller
}
