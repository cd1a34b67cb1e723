// A radio moves when it is pressed; what is true may not follow. Then the group shows again what is true.

export function settle(pressed: HTMLInputElement, value: string): void {
  for (const one of document.getElementsByName(pressed.name)) if (one instanceof HTMLInputElement) one.checked = one.value === value;
}
