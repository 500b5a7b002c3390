// Texts of the overview.

export const texts = {
  heading: 'Overview',
  live: 'Updated as it happens',
  restartApp: 'Restart application',

  headline: {
    waiting: (count: number) => (count === 1 ? 'One session waits for you' : `${count} sessions wait for you`),
    ended: 'The application has ended',
    noRuntime: 'No runtime is connected',
    silent: (name: string) => `${name} does not answer`,
    failed: (count: number) =>
      count === 1 ? 'One run failed in the last hour' : `${count} runs failed in the last hour`,
    running: (count: number) => (count === 1 ? 'One run is at work' : `${count} runs are at work`),
    nothing: 'Nothing needs you',
  },

  waiting: {
    label: 'Sessions that wait for an answer',
    asks: (tool: string) => `${tool} waits for an answer`,
    about: (tool: string, agent: string) => `Tool ${tool} of agent ${agent}, session `,
    aboutAgent: (agent: string) => `Agent ${agent}, session `,
    answer: 'Answer',
    answerLabel: (session: string) => `Answer session ${session}`,
    more: (count: number) => `${count} more`,
  },

  running: {
    heading: 'Runs now',
    none: 'Nothing runs.',
    status: 'running',
    spans: (count: number) => (count === 1 ? '1 span' : `${count} spans`),
    stop: 'Stop',
    stopLabel: (name: string) => `Stop ${name}`,
    stopped: (name: string) => `${name} was told to stop`,
    open: (name: string) => `Open the trace of ${name}`,
  },

  failed: {
    heading: 'Failed lately',
    count: (count: number, isMore: boolean) => `${count}${isMore ? ' or more' : ''} in the last hour`,
    none: 'No run failed in the last hour.',
    all: 'All failures',
    open: 'Open trace',
    openLabel: (name: string) => `Open trace of ${name}`,
    again: 'Run again',
    againLabel: (name: string) => `Run again: ${name}, with the same input`,
    ago: (age: string) => (age === 'now' ? 'now' : /min/.test(age) ? `${age} ago` : age),
    succeeded: (name: string) => `${name} succeeded`,
    failedAgain: (name: string, why: string) => `${name} failed again: ${why}`,
  },

  figures: {
    heading: 'Traces',
    spans: { minutes: '2 min', hour: '1 h', week: '7 days' },
    range: 'Time range',
    traces: 'traces',
    failed: 'failed',
    within: '95 of 100 within',
    tokens: 'tokens',
    cost: 'cost',
    chart: (step: string, range: string, all: number, failed: number) =>
      `Traces in steps of ${step}, last ${range}: ${all}, of which ${failed} failed`,
    table: 'The chart as a table',
    from: 'From',
    capped: (count: string) => `Only the newest ${count} are counted.`,
    none: 'No traces in this time. Run something:',
    noneCommand: "oxikit flow run hello '\"Ada\"'",
  },

  runtimes: {
    heading: 'Runtimes',
    since: (time: string) => `since ${time}`,
    actions: (count: number) => (count === 1 ? '1 action' : `${count} actions`),
    inUse: 'in use',
    use: 'Use',
    useLabel: (name: string) => `Run actions on ${name}`,
    unknownVersion: 'unknown version',
    silent: 'does not answer',
    why: 'Why?',
    whyLabel: (name: string) => `Why does ${name} not answer?`,
    whyAbout: (name: string, pid: number) =>
      `${name} is connected, but has not reacted to the last requests. Its process ${pid} is stopped (a debugger, Ctrl Z), blocked by work without await, or busy. Look at its log, or restart it.`,
    none: 'No runtime is connected.',
    noneEnded: (exit: string) => `The application has ended (${exit}). Its last lines are below.`,
    noneStarting:
      'The application runs, but has not registered. It may still be starting, be built without the developer tools, or belong to another environment than dev.',
    noneAbout: 'Start an application below the project, in any language:',
    noneCommand: 'oxikit start -- node app.js',
  },

  app: {
    heading: 'Application',
    runs: 'runs',
    ended: 'has ended',
    process: (pid: number) => `Process ${pid}`,
    restarts: (count: number) => (count === 1 ? '1 restart' : `${count} restarts`),
    stop: 'Stop',
    stopLabel: 'Stop the application',
    restart: 'Restart',
    restartLabel: 'Restart the application',
    log: 'Last lines of the application',
    noLines: 'The application has printed nothing.',
    allLines: (count: number) => `Show all ${count} lines`,
    fewerLines: 'Show fewer',
    none: 'The tools did not start an application.',
    noneCommand: 'oxikit start -- node app.js',
    stopped: 'The application was stopped',
    restarted: 'The application was restarted',
  },

  doctor: {
    heading: 'Doctor',
    summary: (good: number, suspicious: number, bad: number) =>
      [
        `${good} good`,
        suspicious ? `${suspicious} suspicious` : '',
        bad ? `${bad} bad` : '',
      ]
        .filter(Boolean)
        .join(', '),
    again: 'Check again',
    good: 'good',
    suspicious: 'suspicious',
    bad: 'bad',
    failed: 'The doctor did not answer',
  },

  command: 'oxikit doctor && oxikit app status',
};
