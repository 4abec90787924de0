-- Which transitions were taken, how often, and when last.
create view :"views".paths as
select t.workflow, m.from_state, m.event, m.to_state, count(*) as count, max(m.at) as last_at
from (
    select l.token, l.kind, l.at, l.data ->> 'state' as from_state, l.data ->> 'event' as event,
           -- A move ends with the state that is entered; what stands in between are tasks.
           case lead(l.kind) over line
               when 'entered' then lead(l.data ->> 'state') over line
               else '__end__'
           end as to_state
    from ledger l
    where l.kind in ('event_accepted', 'entered', 'completed')
    window line as (partition by l.token order by l.seq)
) m
join tokens t on t.token = m.token
where m.kind = 'event_accepted'
group by t.workflow, m.from_state, m.event, m.to_state;

comment on view :"views".paths is 'The transitions that tokens took, with how often.';
comment on column :"views".paths.workflow is 'The workflow: the main one, or a child''s.';
comment on column :"views".paths.from_state is 'The state that was left; __start__ for a start.';
comment on column :"views".paths.event is 'The event; __started__ for a start.';
comment on column :"views".paths.to_state is 'The state that was entered; __end__ for END.';
comment on column :"views".paths.count is 'How often it was taken.';
comment on column :"views".paths.last_at is 'When it was taken last.';
