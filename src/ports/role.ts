/**
 * How a process opens a home. `owner` runs turns; `guest` reads, cancels and answers approvals beside an owner;
 * `maintenance` owns the home and runs no turns.
 */
export type Role = 'owner' | 'guest' | 'maintenance'
