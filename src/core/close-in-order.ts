/** A failure does not stop the others; the first one is thrown at the end. */
export async function closeInOrder(closings: (() => Promise<void> | undefined)[]): Promise<void> {
  const faults: unknown[] = []
  for (const close of closings) {
    try {
      await close()
    } catch (fault) {
      faults.push(fault)
    }
  }
  if (faults.length > 0) throw faults[0]
}
