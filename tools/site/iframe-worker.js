// Browsers start no workers for pages that are opened from a folder. There the script of the search runs in a hidden frame, which
// looks like a worker to both sides.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      const run = (source) => new Promise((done, failed) => {
        const script = frame.contentDocument.createElement("script");
        script.src = source;
        script.onload = done;
        script.onerror = failed;
        frame.contentDocument.body.append(script);
      });
      this.inside.importScripts = (...sources) => sources.reduce((before, next) => before.then(() => run(next)), Promise.resolve());
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", {data}));
      run(url).then(() => {
        const waiting = this.waiting;
        this.waiting = null;
        for (const data of waiting) this.postMessage(data);
      });
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.inside.dispatchEvent(new MessageEvent("message", {data}));
    }
    terminate() { this.inside.frameElement.remove(); }
  };
}
