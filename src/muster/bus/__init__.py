"""Messages by way of Kafka. (The embedded bus lives in `store`, on its tables.)"""
