import { signal } from '@preact/signals'

const isKnown = 'Notification' in globalThis

/** What the person decided; `unknown`: a browser without notifications. */
export const permission = signal<NotificationPermission | 'unknown'>(isKnown ? Notification.permission : 'unknown')

export const wantsNotifications = (): boolean => permission.value === 'granted'

export async function askForNotifications(): Promise<void> {
  permission.value = await Notification.requestPermission()
}

/** Tells a person who looks elsewhere. */
export function notifyOfWaiting(count: number): void {
  if (!document.hidden || !wantsNotifications()) return
  new Notification('Holdfast', {
    body: `${count} ${count === 1 ? 'request waits' : 'requests wait'} for you.`,
    tag: 'waiting',
  })
}
