-- How long visits of each state took that are over, the visits that a failure or a cancel ended included.
create view :"views".dwell as
select t.workflow, v.data ->> 'state' as state, count(*) as count,
       date_trunc('milliseconds', percentile_cont(0.5) within group (order by v.took)) as p50,
       date_trunc('milliseconds', percentile_cont(0.95) within group (order by v.took)) as p95,
       date_trunc('milliseconds', max(v.took)) as max
from (
    select l.token, l.kind, l.data,
           lead(l.at) over (partition by l.token order by l.seq) - l.at as took
    from ledger l
    where l.kind in ('entered', 'completed', 'failed', 'cancelled')
) v
join tokens t on t.token = v.token
where v.kind = 'entered' and v.took is not null
group by t.workflow, v.data ->> 'state';

comment on view :"views".dwell is 'How long tokens stayed in each state, over all visits that have ended.';
comment on column :"views".dwell.workflow is 'The workflow: the main one, or a child''s.';
comment on column :"views".dwell.state is 'The state.';
comment on column :"views".dwell.count is 'How many visits have ended.';
comment on column :"views".dwell.p50 is 'Half of the visits took no longer.';
comment on column :"views".dwell.p95 is '95 of 100 visits took no longer.';
comment on column :"views".dwell.max is 'The longest visit.';
