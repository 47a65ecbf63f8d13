//! SERVICE: remote patterns joined to local rows.
//!
//! Two ways for a group, chosen by cost. *After*: the local part first, then each service joined to the
//! rows that are there, either with their bindings in the requests or fetched whole. *Among*: each
//! service fetched whole, as one unit of join ordering beside the others; only if every endpoint is a
//! constant and no row of an enclosing EXISTS is to be met, as that would fetch it for each row.
//!
//! Invariant: a condition is applied below a service only if the service cannot change what it sees.

use super::Outer;
use crate::cost_constants::{
    HASH_PROBE, SELECTIVITY_EXISTS, SERVICE_BINDINGS, SERVICE_REQUEST, SERVICE_ROW, SERVICE_SEND,
};
use crate::expression::{conjunction, has_exists, resolve_missing, slots_of, slots_of_all};
use crate::join_order::joined;
use crate::logical::{JoinGroup, Logical};
use crate::physical::{Expr, JoinKind, Node, Op, ServicePattern};
use crate::planner::{ForceJoin, PlanError, Planner, node};
use crate::slot_set::SlotSet;
use std::sync::Arc;

impl Planner<'_> {
    /// The plan of a group that has services among its parts, `None` for others.
    pub(crate) fn group_with_services(
        &mut self,
        group: &JoinGroup,
        outer: &Outer,
        seed: &Option<Node>,
    ) -> Result<Option<Node>, PlanError> {
        let mut services = Vec::new();
        let mut children = Vec::new();
        for child in &group.children {
            match child {
                Logical::Service(service) => services.push(service.clone()),
                other => children.push(other.clone()),
            }
        }
        if services.is_empty() {
            return Ok(None);
        }
        let has_variable = services.iter().any(|s| s.endpoint_slot().is_some());
        let is_alone = services.len() == 1
            && children.is_empty()
            && group.triples.is_empty()
            && group.paths.is_empty()
            && seed.is_none();
        let local = JoinGroup {
            triples: group.triples.clone(),
            paths: group.paths.clone(),
            children,
            filters: Vec::new(),
        };
        // Without a bound, nested groups with services would be planned exponentially often.
        let is_only_way =
            has_variable || is_alone || !outer.slots.is_empty() || self.alternatives == 0;
        self.alternatives = self.alternatives.saturating_sub(1);
        let after = self.services_after(local, &group.filters, services, outer, seed)?;
        if is_only_way {
            return Ok(Some(after));
        }
        let chosen = match self.options.force_join {
            Some(ForceJoin::Index) => after,
            Some(ForceJoin::Hash | ForceJoin::Merge) => {
                self.join_units(group, outer, seed.clone())?
            }
            None => {
                let among = self.join_units(group, outer, seed.clone())?;
                if among.estimated_cost < after.estimated_cost {
                    among
                } else {
                    after
                }
            }
        };
        Ok(Some(chosen))
    }

    /// The local part of a group, then its services, cheapest first.
    fn services_after(
        &mut self,
        mut local: JoinGroup,
        filters: &[Expr],
        mut services: Vec<ServicePattern>,
        outer: &Outer,
        seed: &Option<Node>,
    ) -> Result<Node, PlanError> {
        let remote = services.iter().fold(SlotSet::default(), |set, service| {
            set.union(SlotSet::of(&service.slots()))
                .union(service.endpoint_slot().into_iter().collect())
        });
        let settled = local.certain();
        let (before, after): (Vec<Expr>, Vec<Expr>) = filters
            .iter()
            .cloned()
            .partition(|filter| slots_of(filter).intersect(remote).is_subset(&settled));
        local.filters = before;
        let mut plan = self.join_units(&local, outer, seed.clone())?;
        if matches!(plan.op, Op::Empty) {
            return Ok(plan);
        }
        plan = self.with_outer(plan, remote.union(slots_of_all(&after)), outer);
        while !services.is_empty() {
            let cost = |service: &ServicePattern| {
                let ready = service
                    .endpoint_slot()
                    .is_none_or(|slot| plan.schema.contains(&slot));
                let cost = self.service_cost(&plan, service).0;
                if ready { cost } else { f64::INFINITY }
            };
            let costs: Vec<f64> = services.iter().map(cost).collect();
            let next = (0..costs.len()).min_by(|&a, &b| costs[a].total_cmp(&costs[b]));
            let service = services.remove(next.unwrap_or_default());
            plan = self.service_join(plan, &service, JoinKind::Inner, None);
        }
        self.apply_conditions(plan, after)
    }

    /// A service fetched whole, joined to nothing.
    pub(super) fn service_leaf(&self, service: &ServicePattern) -> Node {
        let unit = node(Op::Unit, Vec::new(), SlotSet::default(), 1.0, 0.0);
        self.service_join(unit, service, JoinKind::Inner, None)
    }

    /// The cost of joining a service to some rows, and the slots to send for it.
    fn service_cost(&self, input: &Node, service: &ServicePattern) -> (f64, SlotSet) {
        let rows = input.estimated_rows;
        let sendable = SlotSet::of(&service.slots()).intersect(SlotSet::of(&input.certain));
        let requests = (rows / SERVICE_BINDINGS).ceil().max(1.0);
        let bound = requests * SERVICE_REQUEST + rows * (SERVICE_SEND + SERVICE_ROW);
        let whole = SERVICE_REQUEST + service.rows * SERVICE_ROW + rows * HASH_PROBE;
        let sends = match self.options.force_join {
            Some(ForceJoin::Index) => true,
            Some(ForceJoin::Hash | ForceJoin::Merge) => false,
            None => bound <= whole,
        };
        if sends && !sendable.is_empty() {
            (bound, sendable)
        } else {
            (whole, SlotSet::default())
        }
    }

    fn service_join(
        &self,
        input: Node,
        service: &ServicePattern,
        kind: JoinKind,
        filter: Option<Expr>,
    ) -> Node {
        let (cost, send) = self.service_cost(&input, service);
        let slots = service.slots();
        let is_connected = slots.iter().any(|slot| input.schema.contains(slot));
        let (schema, certain) = joined(&input, &slots, SlotSet::of(&service.certain), kind);
        let rows = match kind {
            JoinKind::Semi | JoinKind::Anti => input.estimated_rows * SELECTIVITY_EXISTS,
            JoinKind::Inner | JoinKind::LeftOuter if is_connected => input.estimated_rows,
            JoinKind::Inner | JoinKind::LeftOuter => input.estimated_rows * service.rows,
        };
        let cost = cost + input.estimated_cost;
        let op = Op::Service {
            input: Arc::new(input),
            service: service.clone(),
            send: send.to_vec(),
            kind,
            filter,
        };
        node(op, schema, certain, rows, cost)
    }

    /// Joins a group that is one service to finished left rows, which may send their bindings;
    /// `None` if the group is more than that.
    pub(super) fn join_service(
        &mut self,
        left: &Node,
        group: &JoinGroup,
        conditions: &[Expr],
        kind: JoinKind,
    ) -> Result<Option<Node>, PlanError> {
        let [Logical::Service(service)] = group.children.as_slice() else {
            return Ok(None);
        };
        // The group's own conditions see what the service binds, not what the left side does.
        let visible = SlotSet::of(&left.schema);
        let own = slots_of_all(&group.filters).intersect(visible);
        if !group.triples.is_empty()
            || !group.paths.is_empty()
            || group.filters.iter().any(has_exists)
            || !own.is_subset(&SlotSet::of(&service.certain))
        {
            return Ok(None);
        }
        let row = Outer {
            slots: visible.union(SlotSet::of(&service.slots())),
            certain: SlotSet::of(&left.certain),
        };
        let mut filters = conditions.to_vec();
        for filter in &mut filters {
            resolve_missing(filter, &row.slots, self.statistics);
            self.lower_exists(filter, &row, left.estimated_rows)?;
        }
        for filter in &group.filters {
            let mut filter = filter.clone();
            resolve_missing(
                &mut filter,
                &group.schema().intersect(row.slots),
                self.statistics,
            );
            filters.push(filter);
        }
        let filter = conjunction(filters);
        Ok(Some(self.service_join(left.clone(), service, kind, filter)))
    }

    /// As [`Self::join_service`] for EXISTS, where joining must be the same as putting the row's values
    /// into the pattern.
    pub(super) fn exists_service(
        &mut self,
        left: &Node,
        group: &JoinGroup,
        conditions: &[Expr],
        kind: JoinKind,
    ) -> Result<Option<Node>, PlanError> {
        let [Logical::Service(service)] = group.children.as_slice() else {
            return Ok(None);
        };
        let shared = SlotSet::of(&service.slots()).intersect(SlotSet::of(&left.schema));
        let is_same = shared.is_subset(&SlotSet::of(&left.certain))
            && shared.is_subset(&SlotSet::of(&service.certain))
            && !conditions.iter().any(has_exists);
        if !is_same {
            return Ok(None);
        }
        self.join_service(left, group, conditions, kind)
    }
}
