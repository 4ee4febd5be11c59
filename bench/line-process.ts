/** A child process that answers JSON lines: our own side and the peer are both measured through it, so that they pay alike. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface, type Interface } from "node:readline";

/** What a request for a measurement is answered with. */
export interface Timing {
  /** One entry a repetition. */
  readonly seconds: readonly number[];
  /** Peak resident memory of the process so far. */
  readonly peakMemoryBytes: number;
}

/** A program that is asked and answers in JSON lines. */
export class LineProcess {
  private readonly answers: AsyncIterator<string>;
  /** Why the program could not be started. */
  private startError: Error | undefined;

  private constructor(
    private readonly name: string,
    private readonly child: ChildProcess,
    lines: Interface,
  ) {
    this.answers = lines[Symbol.asyncIterator]();
  }

  /** Starts a program; its standard error passes through. */
  static start(program: string, programArguments: readonly string[], environment: NodeJS.ProcessEnv = process.env): LineProcess {
    const child = spawn(program, programArguments, { stdio: ["pipe", "pipe", "inherit"], env: environment });
    const name = [program, ...programArguments.filter((argument) => !argument.startsWith("{"))].join(" ");
    const started = new LineProcess(name, child, createInterface({ input: child.stdout }));
    // The reader sees the end of the output and reports why.
    child.on("error", (error) => {
      started.startError = error;
    });
    child.stdin.on("error", () => undefined);
    return started;
  }

  /** Starts a TypeScript file of this folder in a fresh Node. */
  static startWorker(file: string, argument: object): LineProcess {
    return LineProcess.start(process.execPath, ["--import", "tsx", new URL(file, import.meta.url).pathname, JSON.stringify(argument)]);
  }

  /** The next answer. @throws when the process ended instead. */
  async receive<Answer>(): Promise<Answer> {
    const next = await this.answers.next();
    if (next.done) {
      const reason = this.startError?.message ?? `exit code ${this.child.exitCode ?? "none"}: its messages stand above`;
      throw new Error(`${this.name} ended without an answer (${reason})`);
    }
    return JSON.parse(next.value) as Answer;
  }

  async request<Answer = Timing>(request: object): Promise<Answer> {
    this.child.stdin?.write(`${JSON.stringify(request)}\n`);
    return this.receive<Answer>();
  }

  /** Ends the process by closing its input and waits until it is gone. */
  async close(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = new Promise<void>((resolve) => this.child.once("exit", () => resolve()));
    this.child.stdin?.end();
    await gone;
  }
}

/**
 * Measures all sides in turn, so that a change in the machine's speed meets every one; warm-ups come first and don't count. One
 * list of seconds and the peak memory a side.
 */
export async function alternate(
  sides: readonly LineProcess[],
  request: object,
  { warmUps, repeats }: { readonly warmUps: number; readonly repeats: number },
): Promise<readonly { readonly seconds: readonly number[]; readonly peakMemoryBytes: number }[]> {
  const measured = sides.map(() => ({ seconds: [] as number[], peakMemoryBytes: 0 }));
  for (let repetition = -warmUps; repetition < repeats; repetition++) {
    for (const [index, side] of sides.entries()) {
      const timing = await side.request(request);
      const one = measured[index] as (typeof measured)[number];
      one.peakMemoryBytes = timing.peakMemoryBytes;
      if (repetition >= 0) one.seconds.push(...timing.seconds);
    }
  }
  return measured;
}

/** The other side, run inside the child: answers every request of standard input until it is closed. */
export async function answerLines(greeting: object, answer: (request: Record<string, unknown>) => Promise<object>): Promise<void> {
  const say = (value: object) => process.stdout.write(`${JSON.stringify(value)}\n`);
  say(greeting);
  for await (const line of createInterface({ input: process.stdin })) say(await answer(JSON.parse(line) as Record<string, unknown>));
}
