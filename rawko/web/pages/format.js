// Numbers as people read them. What is not known is a dash, never a zero.

export const NONE = "–";

export function clock(seconds, digits = 1) {
  if (seconds === null || seconds === undefined) return NONE;
  const whole = Math.floor(seconds);
  const rest = String(Math.floor((seconds - whole) * 10 ** digits)).padStart(digits, "0");
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}:${pad(whole % 60)}.${rest}`;
  return `${Math.floor(minutes / 60)}:${pad(minutes % 60)}:${pad(whole % 60)}`;
}

export function took(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${pad(Math.floor(seconds % 60))}`;
  return `${Math.floor(seconds / 3600)} h ${pad(Math.floor((seconds % 3600) / 60))}`;
}

export function age(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

export function count(number) {
  if (!number) return NONE;
  if (number < 1000) return String(number);
  if (number < 9950) return (number / 1000).toFixed(1) + "k";
  if (number < 999500) return Math.round(number / 1000) + "k";
  return (number / 1e6).toFixed(1) + "M";
}

export function exact(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function cost(dollars, digits) {
  if (dollars === null || dollars === undefined) return NONE;
  return "$" + dollars.toFixed(digits ?? (dollars < 0.1 ? 3 : 2));
}

export function size(characters) {
  if (characters < 1000) return `${characters} characters`;
  if (characters < 1e6) return `${(characters / 1000).toFixed(1)} k characters`;
  return `${(characters / 1e6).toFixed(1)} M characters`;
}

function pad(number) {
  return String(number).padStart(2, "0");
}
