//! The PolicyService.

use std::sync::Arc;

use airlock_control::{
    api::ApiError,
    decisions::Decisions,
    model::Principal,
    profiles::{LiveProfiles, ResolvedProfile, default_of},
};
use airlock_domain::limits::MESSAGE_BYTES;
use airlock_proto::v1::{
    self, PolicyServiceCheckRequest, PolicyServiceCheckResponse, PolicyServiceGetProfileRequest,
    PolicyServiceGetProfileResponse, PolicyServiceListProfilesRequest, PolicyServiceListProfilesResponse,
    policy_service_server::PolicyService,
};
use prost::Message as _;
use tonic::{Request, Response, Status};

use super::{
    call::{caller, fits, refused},
    decision, records,
};
use crate::validate;

/// The handler of the PolicyService.
pub(super) struct PolicyHandler {
    pub(super) decisions: Arc<Decisions>,
    pub(super) profiles: LiveProfiles,
}

#[tonic::async_trait]
impl PolicyService for PolicyHandler {
    async fn check(
        &self,
        request: Request<PolicyServiceCheckRequest>,
    ) -> Result<Response<PolicyServiceCheckResponse>, Status> {
        let who = caller(&request)?.principal;
        let request = validate::check(request.into_inner()).map_err(refused)?;
        let (made, profile) = self.decisions.check(&who, request).await.map_err(refused)?;
        let decision = Some(decision::to_wire(&made, &profile, &[]));
        Ok(Response::new(PolicyServiceCheckResponse { decision }))
    }

    async fn get_profile(
        &self,
        request: Request<PolicyServiceGetProfileRequest>,
    ) -> Result<Response<PolicyServiceGetProfileResponse>, Status> {
        let who = caller(&request)?.principal;
        let (name, full) = validate::get_profile(request.into_inner()).map_err(refused)?;
        let profiles = self.profiles.now();
        let found = profiles.seen_by(&who, name.as_deref()).map_err(refused)?;
        let profile = to_wire(found, &who, full);
        check_size(&profile).map_err(refused)?;
        Ok(Response::new(PolicyServiceGetProfileResponse { profile: Some(profile) }))
    }

    async fn list_profiles(
        &self,
        request: Request<PolicyServiceListProfilesRequest>,
    ) -> Result<Response<PolicyServiceListProfilesResponse>, Status> {
        let who = caller(&request)?.principal;
        let request = validate::list_profiles(request.into_inner()).map_err(refused)?;
        let mut page = request.page;
        let profiles = self.profiles.now();
        loop {
            let found = profiles.list_seen_by(&who, &request.prefix, &page);
            let found = found.map_err(refused)?;
            let answer = PolicyServiceListProfilesResponse {
                profiles: found.items.iter().map(|profile| to_wire(profile, &who, request.full)).collect(),
                next_page_token: found.next.unwrap_or_default(),
            };
            if fits(&answer, &mut page) {
                answer.profiles.iter().try_for_each(check_size).map_err(refused)?;
                return Ok(Response::new(answer));
            }
        }
    }
}

/// Checks that a profile fits into a message. Its files can be larger.
fn check_size(profile: &v1::Profile) -> Result<(), ApiError> {
    if profile.encoded_len() <= MESSAGE_BYTES {
        return Ok(());
    }
    Err(ApiError::FailedPrecondition {
        reason: "PROFILE_TOO_LARGE",
        message: format!(
            "the rules of profile `{}` do not fit into a message; request the BASIC view",
            profile.name
        ),
    })
}

fn to_wire(profile: &ResolvedProfile, who: &Principal, full: bool) -> v1::Profile {
    let limits = &profile.sandbox.limits;
    let basic = v1::Profile {
        name: profile.name().to_owned(),
        policy_version: profile.policy.policy_version().0.to_vec().into(),
        default_mode: v1::Mode::from(profile.default_mode()).into(),
        modes: profile.modes().map(|mode| v1::Mode::from(mode).into()).collect(),
        timeout_default: Some(records::duration(profile.command.timeout)),
        timeout_max: Some(records::duration(profile.timeout_max)),
        limits: Some(v1::ProfileLimits {
            open_files: limits.open_files,
            processes: limits.processes,
            file_size: limits.file_size,
            output_bytes: limits.output_bytes,
            grace: Some(records::duration(limits.grace)),
        }),
        network: Some(&*profile.network).filter(|rules| !rules.allow_nothing()).cloned().map(Into::into),
        port_forward: profile.port_forward.iter().map(ToString::to_string).collect(),
        self_approval: profile.self_approval,
        no_background: !profile.background,
        hooks: profile
            .hooks
            .iter()
            .map(|hook| v1::ProfileHook { name: hook.name.clone(), required: hook.required })
            .collect(),
        is_default: default_of(who) == Some(profile.name()),
        ..Default::default()
    };
    if !full {
        return basic;
    }
    let rules = profile.policy.rules();
    let tried = [
        (v1::Verdict::Deny, &rules.deny),
        (v1::Verdict::Ask, &rules.ask),
        (v1::Verdict::Allow, &rules.allow),
    ];
    let rules = tried.into_iter().flat_map(|(verdict, rules)| {
        rules
            .iter()
            .map(move |rule| v1::ProfileRule { verdict: verdict.into(), rule: rule.text().to_owned() })
    });
    v1::Profile {
        rules: rules.collect(),
        path: profile.sandbox.path.clone(),
        env_names: profile.sandbox.env.keys().cloned().collect(),
        root_binds: profile.sandbox.root_binds.iter().map(|bind| bind.target.clone()).collect(),
        ..basic
    }
}
