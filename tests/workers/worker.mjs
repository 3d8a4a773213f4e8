// A worker on the public JavaScript client: completes, fails or reports, by topic. Arguments: base address, token.
import { BasicAuthInterceptor, Client, Variables } from "camunda-external-task-client-js";

const [baseUrl, password] = process.argv.slice(2);
const client = new Client({
  baseUrl,
  workerId: "javascript",
  asyncResponseTimeout: 5000,
  interceptors: new BasicAuthInterceptor({ username: "worker", password }),
});

client.subscribe("js-complete", async ({ task, taskService }) => {
  await taskService.extendLock(task, 120000);
  const given = task.variables;
  const variables = new Variables()
    .set("told", { text: given.get("text"), whole: given.get("whole"), flag: given.get("flag"), half: given.get("half") })
    .set("object", given.get("object"))
    .set("at", new Date(Date.UTC(2026, 2, 1, 12)))
    .set("nothing", given.get("nothing"));
  await taskService.complete(task, variables, new Variables().set("own", 1));
});

client.subscribe("js-fail", async ({ task, taskService }) => {
  const retries = task.retries - 1;
  await taskService.handleFailure(task, { errorMessage: "no luck", errorDetails: "all of it", retries, retryTimeout: 0 });
});

let seen = 0;
client.subscribe("js-error", async ({ task, taskService }) => {
  // Given back the first time: it comes again.
  if (seen++ === 0) return taskService.unlock(task);
  await taskService.handleBpmnError(task, "POOR", "no money", new Variables().set("left", 3));
});
