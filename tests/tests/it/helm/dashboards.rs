//! The dashboards in the chart are those of `deploy/grafana`, all of them and unchanged, also in a packaged release.

use std::{collections::BTreeMap, fs, process::Command};

use airlock_tests::{
    chart::{self, render},
    source,
    tools::tool,
};

/// Returns the file name and text of each dashboard.
fn dashboards() -> BTreeMap<String, String> {
    let listed = fs::read_dir(source::root().join("deploy/grafana")).unwrap();
    let files = listed.map(|entry| entry.unwrap().path());
    files
        .map(|file| {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(file).unwrap())
        })
        .collect()
}

#[test]
fn each_dashboard_is_a_configmap_that_grafanas_sidecar_finds_and_none_is_there_unasked() {
    let rendered =
        render(&["--set", "dashboards.enabled=true", "--set", "dashboards.labels.folder=ops"]).unwrap();
    assert_eq!(rendered.problems(), Vec::<String>::new());
    let mut shown = BTreeMap::new();
    for map in rendered.of("ConfigMap").filter(|map| map["metadata"]["labels"]["grafana_dashboard"] == "1") {
        assert_eq!(map["metadata"]["labels"]["folder"], "ops");
        let data = map["data"].as_object().unwrap();
        assert_eq!(data.len(), 1, "one of each");
        for (name, text) in data {
            let stem = name.trim_end_matches(".json");
            assert_eq!(map["metadata"]["name"], format!("r-airlock-dashboard-{stem}"));
            shown.insert(name.clone(), text.as_str().unwrap().to_owned());
        }
    }
    assert!(shown.len() >= 5, "{:?}", shown.keys());
    assert_eq!(shown, dashboards());
    assert!(!render(&[]).unwrap().text.contains("grafana_dashboard"));
}

#[test]
fn the_chart_as_an_archive_has_the_dashboards_as_files_and_renders_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let packed = Command::new(tool("helm"))
        .args(["package", "--destination"])
        .arg(directory.path())
        .arg(chart::directory())
        .output()
        .unwrap();
    assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
    let unpacked =
        Command::new("sh").args(["-c", "tar xzf airlock-*.tgz"]).current_dir(directory.path()).status();
    assert!(unpacked.unwrap().success());
    let chart = directory.path().join("airlock");
    for (name, text) in dashboards() {
        let file = chart.join("dashboards").join(&name);
        assert!(!file.is_symlink(), "{name} itself exists");
        assert_eq!(fs::read_to_string(file).unwrap(), text, "{name}");
    }
    let options = ["--set", "dashboards.enabled=true", "--show-only", "templates/dashboards.yaml"];
    let archived = Command::new(tool("helm"))
        .args(["template", "r", "--namespace", "default", "--kube-version", "1.33.0"])
        .arg(&chart)
        .args(options)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(archived.stdout).unwrap(), render(&options).unwrap().text);
}
