/** A text that is not shown when an object that contains it is printed. */

/** A secret text. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns the text. */
  reveal(): string {
    return this.#text;
  }

  /** Reports whether two secrets are equal. */
  static equal(one: Secret | undefined, other: Secret | undefined): boolean {
    return one?.reveal() === other?.reveal();
  }
}
