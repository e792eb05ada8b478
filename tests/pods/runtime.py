"""An OCI runtime for podman: runc, with the fields of a pod's securityContext applied that podman ignores.

    runtime.py DIRECTORY RUNC-ARGUMENTS...

DIRECTORY is that of convert.py. Before a container is created, its OCI configuration is changed to what Kubernetes would
have requested. DIRECTORY/applied/POD.json lists the value of each field in that configuration, and who set it.
"""

import json
import os
import sys

CAPABILITY_SETS = ("bounding", "effective", "permitted", "inheritable", "ambient")
FOR_MOUNTS = {"clone", "mount", "pivot_root", "setns", "umount2", "unshare"}


class Applied:
    """Applies fields one after another. Fields that podman has already set are not changed."""

    def __init__(self, config):
        self.config = config
        self.fields = []

    def field(self, name, wanted, shown, holds, put):
        """Applies a field. `shown` names the keys of the configuration that `holds` checks and `put` sets."""
        by = "podman"
        if not holds():
            put()
            by = "runtime.py"
        self.fields.append({"field": name, "wanted": wanted, "oci": shown(), "by": by, "holds": holds()})


def user(applied, pod):
    own = applied.config["process"]["user"]
    wanted = pod["runAsUser"], pod["runAsGroup"]
    applied.field(
        "runAsUser, runAsGroup",
        wanted,
        lambda: f"process.user: {own['uid']}:{own['gid']}",
        lambda: (own["uid"], own["gid"]) == wanted,
        lambda: own.update(uid=wanted[0], gid=wanted[1]),
    )
    applied.field(
        "runAsNonRoot",
        pod["runAsNonRoot"],
        lambda: f"process.user.uid: {own['uid']}",
        lambda: own["uid"] != 0,
        lambda: None,
    )
    applied.field(
        "fsGroup",
        pod["fsGroup"],
        lambda: f"process.user.additionalGids: {own.get('additionalGids')}",
        lambda: own.get("additionalGids") == [pod["fsGroup"]],
        lambda: own.update(additionalGids=[pod["fsGroup"]]),
    )


def capability_sets(container):
    """Returns the capability sets that engines under Kubernetes assign. The inheritable and ambient sets stay empty."""
    added = sorted("CAP_" + name for name in container["capabilities"].get("add", []))
    return {name: added if name in CAPABILITY_SETS[:3] else [] for name in CAPABILITY_SETS}


def rights(applied, container):
    process = applied.config["process"]
    escalate = container["allowPrivilegeEscalation"]
    applied.field(
        "allowPrivilegeEscalation",
        escalate,
        lambda: f"process.noNewPrivileges: {process.get('noNewPrivileges', False)}",
        lambda: process.get("noNewPrivileges", False) is not escalate,
        lambda: process.update(noNewPrivileges=not escalate),
    )
    sets = capability_sets(container)
    capabilities = process.setdefault("capabilities", {})
    applied.field(
        "capabilities",
        container["capabilities"],
        lambda: f"process.capabilities: {capabilities}",
        lambda: {name: sorted(capabilities.get(name) or []) for name in CAPABILITY_SETS} == sets,
        lambda: capabilities.update(sets),
    )
    root = applied.config["root"]
    applied.field(
        "readOnlyRootFilesystem",
        container["readOnlyRootFilesystem"],
        lambda: f"root.readonly: {root.get('readonly', False)}",
        lambda: root.get("readonly", False) is container["readOnlyRootFilesystem"],
        lambda: root.update(readonly=container["readOnlyRootFilesystem"]),
    )


def confinement(applied, pod, container):
    linux, process = applied.config["linux"], applied.config["process"]

    def allowed():
        calls = (linux.get("seccomp") or {}).get("syscalls", [])
        return {name for rule in calls if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]}

    profile = {}
    if pod["seccompProfile"]["type"] == "Localhost":
        profile = read(os.path.join(pod["seccompRoot"], pod["seccompProfile"]["localhostProfile"]))
        for rule in profile["syscalls"]:
            rule.pop("comment", None)

    def filtered():
        own = linux.get("seccomp") or {}
        if profile:
            return own == profile
        # RuntimeDefault allows mounts if CAP_SYS_ADMIN is added.
        mounts = "SYS_ADMIN" in container["capabilities"].get("add", [])
        return own.get("defaultAction") == "SCMP_ACT_ERRNO" and (not mounts or FOR_MOUNTS <= allowed())

    applied.field(
        "seccompProfile",
        pod["seccompProfile"],
        lambda: f"linux.seccomp: {len(allowed())} calls allowed, {sorted(FOR_MOUNTS & allowed())} among them",
        filtered,
        lambda: linux.update(seccomp=profile),
    )
    if "appArmorProfile" in pod:
        applied.field(
            "appArmorProfile",
            pod["appArmorProfile"],
            lambda: f"process.apparmorProfile: {process.get('apparmorProfile')}",
            lambda: process.get("apparmorProfile") in (None, "", "unconfined"),
            lambda: process.pop("apparmorProfile"),
        )
    if container.get("procMount") == "Unmasked":
        applied.field(
            "procMount",
            "Unmasked",
            lambda: f"linux.maskedPaths: {linux.get('maskedPaths')}, linux.readonlyPaths: {linux.get('readonlyPaths')}",
            lambda: not linux.get("maskedPaths") and not linux.get("readonlyPaths"),
            lambda: linux.update(maskedPaths=[], readonlyPaths=[]),
        )


def namespaces(applied, settings, sandbox):
    """Configures the user namespace: the pod's first container creates it, the others join it."""
    linux = applied.config["linux"]
    own = {one["type"]: one for one in linux["namespaces"]}
    mapping = [{"containerID": 0, "hostID": settings["firstId"], "size": settings["ids"]}]
    entry = {"type": "user"}
    if not sandbox:
        entry["path"] = os.path.join(os.path.dirname(own["network"]["path"]), "user")

    def put():
        linux["namespaces"].append(entry)
        linux.update(uidMappings=mapping, gidMappings=mapping)

    applied.field(
        "hostUsers",
        False,
        lambda: f"linux.namespaces: user, linux.uidMappings: {linux.get('uidMappings')}",
        lambda: any(one["type"] == "user" for one in linux["namespaces"]),
        put,
    )


def memory(applied, settings):
    resources = applied.config["linux"]["resources"]
    applied.field(
        "resources.limits.memory",
        settings["memory"],
        lambda: f"linux.resources.memory.limit: {resources.get('memory', {}).get('limit')}",
        lambda: bool(resources.get("memory", {}).get("limit")),
        lambda: None,
    )


def let_in(directory, config):
    """Lets root of the pod's user namespace traverse directories that podman reserves for the host's root."""
    for source in [config["root"]["path"], *(mount.get("source", "") for mount in config["mounts"])]:
        while source.startswith(directory + "/"):
            source = os.path.dirname(source)
            os.chmod(source, os.stat(source).st_mode | 0o011)


def mount_points(config):
    """Creates mount points, because root of the pod's user namespace cannot create them in an image that it does not own."""
    for mount in config["mounts"]:
        target = os.path.join(config["root"]["path"], mount["destination"].lstrip("/"))
        if os.path.lexists(target):
            continue
        if os.path.isfile(mount.get("source", "")):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            open(target, "x").close()
        else:
            os.makedirs(target)


def read(path):
    with open(path) as file:
        return json.load(file)


def write(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        json.dump(value, file)


def create(directory, bundle, identity):
    """Prepares a container. The name of a pod's first container is that of the pod; the others refer to the first."""
    path = os.path.join(bundle, "config.json")
    config = read(path)
    notes = config["annotations"]
    sandbox = notes.get("io.kubernetes.cri-o.ContainerType") != "container"
    containers = os.path.join(directory, "containers")
    name = config["hostname"] if sandbox else read(os.path.join(containers, notes["io.kubernetes.cri-o.SandboxID"]))
    write(os.path.join(containers, identity), name)
    settings = read(os.path.join(directory, "settings", f"{name}.json"))
    applied = Applied(config)
    if not settings["hostUsers"]:
        namespaces(applied, settings, sandbox)
        let_in(directory, config)
        mount_points(config)
    if not sandbox:
        user(applied, settings["pod"])
        rights(applied, settings["container"])
        confinement(applied, settings["pod"], settings["container"])
        memory(applied, settings)
        write(os.path.join(directory, "applied", f"{name}.json"), applied.fields)
    write(path, config)


def execute(directory, path, identity):
    """Prepares another program in a container, such as a probe."""
    process = read(path)
    name = read(os.path.join(directory, "containers", identity))
    container = read(os.path.join(directory, "settings", f"{name}.json"))["container"]
    process["capabilities"] = capability_sets(container)
    process["noNewPrivileges"] = not container["allowPrivilegeEscalation"]
    write(path, process)


def main(directory, arguments):
    def after(option):
        return arguments[arguments.index(option) + 1]

    if "create" in arguments:
        create(directory, after("--bundle"), arguments[-1])
    elif "exec" in arguments:
        execute(directory, after("--process"), arguments[-1])
    os.execvp("runc", ["runc", *arguments])


main(sys.argv[1], sys.argv[2:])
