-- Claimed tasks whose lease ended before now, by id, each with its top token. Zero rows: none.
select k.id, t.root
from tasks k
join tokens t on t.token = k.token
where k.status = 'claimed' and k.lease_until < :now
order by k.id
limit :limit
