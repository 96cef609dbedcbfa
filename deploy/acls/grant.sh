#!/bin/sh
# Give principals a role of roles.txt on a Kafka with an authorizer, or take it away. Safe to repeat.
#   grant.sh [--print] [--remove] ROLE PRINCIPAL...      grant.sh agent User:agent-1 User:agent-2
# BOOTSTRAP       a broker (localhost:9092)
# COMMAND_CONFIG  client settings of an administrator, for kafka-acls (none)
# KAFKA_ACLS      the command, in one word or several (kafka-acls.sh)
# PREFIX, APP     topic prefix and application_id of the worker (none, plangate)
set -euf
roles=$(dirname "$0")/roles.txt
how=--add print=
while :; do
  case ${1:-} in
    --print) print=1; shift ;;
    --remove) how='--remove --force'; shift ;;
    *) break ;;
  esac
done
if [ $# -lt 2 ] || ! grep -q "^$1 " "$roles"; then
  echo "usage: grant.sh [--print] [--remove] ROLE PRINCIPAL... with a role of:" $(sed -n 's/^\([a-z]*\) .*/\1/p' "$roles" | uniq) >&2
  exit 64
fi
role=$1; shift
who=
for principal; do
  case $principal in *[[:space:]]*|-*) echo "grant.sh: not a principal" >&2; exit 64 ;; esac
  who="$who --allow-principal $principal"
done

grep "^$role " "$roles" | while read -r _ resource pattern operations names; do
  set -- --resource-pattern-type "$pattern"
  for operation in $(echo "$operations" | tr , ' '); do set -- "$@" --operation "$operation"; done
  for name in $(echo "$names" | sed "s/APP/${APP:-plangate}/g; s/@/${PREFIX:-}/g" | tr , ' '); do
    set -- "$@" "--$resource" "$name"
  done
  set -- ${KAFKA_ACLS:-kafka-acls.sh} --bootstrap-server "${BOOTSTRAP:-localhost:9092}" \
    ${COMMAND_CONFIG:+--command-config "$COMMAND_CONFIG"} $how $who "$@"
  if [ -n "$print" ]; then echo "$@"; else "$@" </dev/null; fi
done
