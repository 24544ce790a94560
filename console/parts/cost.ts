export const costText = (cost: number | null): string =>
  cost === null ? 'cost unknown' : cost === 0 ? '$0' : `$${cost < 0.01 ? cost.toFixed(4) : cost.toFixed(2)}`
