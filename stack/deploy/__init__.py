"""What a Kafka cluster and a schema registry must have, embedded or your own: topics, contracts, access rules; and who reads a
topic. It knows both by their addresses alone, and imports no other room of the stack.
"""
