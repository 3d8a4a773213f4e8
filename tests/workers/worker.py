"""A worker on the public Python client: completes, fails or reports, by topic. It is given an address and a
token."""

import json
import sys

from camunda.external_task.external_task_worker import ExternalTaskWorker

BASE, TOKEN = sys.argv[1:]
CONFIG = {
    "lockDuration": 60_000,
    "asyncResponseTimeout": 5_000,
    "sleepSeconds": 1,
    "auth_bearer": {"access_token": TOKEN},
}


def work(task):
    match task.get_topic_name():
        case "py-complete":
            given = task.get_variables()
            told = {name: given[name] for name in ("text", "whole", "flag", "nothing", "half")}
            return task.complete({"told": told, "object": json.loads(given["object"])}, {"own": 1})
        case "py-fail":
            return task.failure("no luck", "all of it", max_retries=3, retry_timeout=0)
        case _:
            return task.bpmn_error("POOR", "no money", {"left": 3})


TOPICS = ["py-complete", "py-fail", "py-error"]
ExternalTaskWorker("python", base_url=BASE, config=CONFIG).subscribe(TOPICS, work)
