"""What Kubernetes and Compose take, as far as we use it: trees of names. One that is not here is a mistake,
or has to be written down here first."""

from collections.abc import Iterator, Mapping
from typing import Any

ANY = "anything"  # a value, or what a user fills in
TEXTS = "texts"  # a map of texts
META = {"name": ANY, "labels": TEXTS, "annotations": TEXTS}
_SELECTOR = {"matchLabels": TEXTS}
_PROBE = {
    "httpGet": {"path": ANY, "port": ANY},
    "periodSeconds": ANY,
    "timeoutSeconds": ANY,
    "failureThreshold": ANY,
}
_CONTAINER = {
    "name": ANY,
    "image": ANY,
    "imagePullPolicy": ANY,
    "args": ANY,
    "env": [{"name": ANY, "valueFrom": {"fieldRef": {"fieldPath": ANY}}}],
    "envFrom": [{"configMapRef": {"name": ANY}, "secretRef": {"name": ANY}}],
    "ports": [{"name": ANY, "containerPort": ANY}],
    "startupProbe": _PROBE,
    "livenessProbe": _PROBE,
    "readinessProbe": _PROBE,
    "resources": {"requests": TEXTS, "limits": TEXTS},
    "securityContext": {
        "allowPrivilegeEscalation": ANY,
        "readOnlyRootFilesystem": ANY,
        "capabilities": {"drop": ANY},
    },
    "volumeMounts": [{"name": ANY, "mountPath": ANY}],
}
_POD = {
    "metadata": META,
    "spec": {
        "serviceAccountName": ANY,
        "automountServiceAccountToken": ANY,
        "enableServiceLinks": ANY,
        "terminationGracePeriodSeconds": ANY,
        "restartPolicy": ANY,
        "imagePullSecrets": [{"name": ANY}],
        "securityContext": {
            "runAsNonRoot": ANY,
            "runAsUser": ANY,
            "runAsGroup": ANY,
            "fsGroup": ANY,
            "seccompProfile": {"type": ANY},
        },
        "containers": [_CONTAINER],
        "volumes": [{"name": ANY, "emptyDir": ANY}],
        "nodeSelector": TEXTS,
        "tolerations": ANY,
        "affinity": ANY,
    },
}
_HEAD = {"apiVersion": ANY, "kind": ANY, "metadata": META}
KINDS: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("v1", "ConfigMap"): {**_HEAD, "data": TEXTS},
    ("v1", "Secret"): {**_HEAD, "type": ANY, "stringData": TEXTS},
    ("v1", "ServiceAccount"): {**_HEAD, "automountServiceAccountToken": ANY},
    ("v1", "Service"): {
        **_HEAD,
        "spec": {
            "type": ANY,
            "clusterIP": ANY,
            "publishNotReadyAddresses": ANY,
            "selector": TEXTS,
            "ports": [{"name": ANY, "port": ANY, "targetPort": ANY}],
        },
    },
    ("apps/v1", "StatefulSet"): {
        **_HEAD,
        "spec": {
            "replicas": ANY,
            "serviceName": ANY,
            "podManagementPolicy": ANY,
            "selector": _SELECTOR,
            "template": _POD,
        },
    },
    ("batch/v1", "Job"): {**_HEAD, "spec": {"backoffLimit": ANY, "template": _POD}},
    ("policy/v1", "PodDisruptionBudget"): {**_HEAD, "spec": {"maxUnavailable": ANY, "selector": _SELECTOR}},
    ("autoscaling/v2", "HorizontalPodAutoscaler"): {
        **_HEAD,
        "spec": {
            "scaleTargetRef": {"apiVersion": ANY, "kind": ANY, "name": ANY},
            "minReplicas": ANY,
            "maxReplicas": ANY,
            "metrics": [
                {
                    "type": ANY,
                    "resource": {"name": ANY, "target": {"type": ANY, "averageUtilization": ANY}},
                }
            ],
        },
    },
}
_SERVICE = {
    "image": ANY,
    "build": {"context": ANY},
    "environment": TEXTS,
    "hostname": ANY,
    "command": ANY,
    "ports": ANY,
    "depends_on": {"*": {"condition": ANY}},
    "restart": ANY,
    "stop_grace_period": ANY,
    "read_only": ANY,
    "tmpfs": ANY,
    "cap_drop": ANY,
    "security_opt": ANY,
    "volumes": ANY,
    "healthcheck": {"test": ANY, "interval": ANY, "timeout": ANY, "retries": ANY, "disable": ANY},
}
COMPOSE = {"name": ANY, "x-muster": ANY, "services": {"*": _SERVICE}, "volumes": {"*": ANY}}


def flaws(value: Any, shape: Any, place: str = "") -> Iterator[str]:
    """Where a document is not of its shape. What is null is as if it were not there."""
    if value is None or shape == ANY:
        return
    if shape == TEXTS:
        if not isinstance(value, dict):
            yield f"{place}: not a map"
        else:
            yield from (
                f"{place}/{name}: not a text" for name, each in value.items() if not isinstance(each, str)
            )
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{place}: not a list"
            return
        for number, each in enumerate(value):
            yield from flaws(each, shape[0], f"{place}/{number}")
    elif not isinstance(value, dict):
        yield f"{place}: not a map"
    else:
        for name, each in value.items():
            inner = shape.get(name, shape.get("*"))
            if inner is None:
                yield f"{place}/{name}: unknown"
            else:
                yield from flaws(each, inner, f"{place}/{name}")
